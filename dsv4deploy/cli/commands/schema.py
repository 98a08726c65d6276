"""Print the JSON Schema of profiles, for editors that complete and check YAML.

Example: dsv4deploy schema > profile.schema.json
"""

GROUP = "Knowledge"
ORDER = 9


def command() -> int:
    import json

    from dsv4deploy.views.schema import profile_schema

    print(json.dumps(profile_schema(), indent=2, ensure_ascii=False))
    return 0
