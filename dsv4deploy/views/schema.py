"""The JSON Schema of a profile file: the resolved profile, and the layers that only a file has."""

from typing import Any

from dsv4deploy.model.profile import Profile


def profile_schema() -> dict[str, Any]:
    """The schema that editors use; a file that extends another may leave out what its base has."""
    schema = Profile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    required = schema.pop("required")
    schema["if"] = {"not": {"required": ["extends"]}}
    schema["then"] = {"required": required}
    for section in schema["$defs"].values():
        section.pop("required", None)
    schema["properties"] = {
        "extends": {"type": "string", "description": "one base profile, relative to this file"},
        **schema["properties"],
        "variants": {
            "type": "object",
            "description": "named overlays, chosen with --variant",
            "additionalProperties": {
                "type": "object",
                "properties": {"set": {"type": "object", "description": "values by dotted path"}},
                "required": ["set"],
                "additionalProperties": False,
            },
        },
    }
    return schema
