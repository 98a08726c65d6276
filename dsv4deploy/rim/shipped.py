"""Finds what ships beside the code: templates and playbooks, in a wheel or in a checkout."""

from pathlib import Path


def shipped(folder: str) -> Path:
    """The folder `templates` or `playbooks`: inside an installed package, or beside it in a checkout."""
    # Not through `importlib.resources`, which is slow to load.
    package = Path(__file__).parents[1]
    inside = package / "_shipped" / folder
    return inside if inside.is_dir() else package.parent / folder


def templates() -> dict[str, str]:
    """Every template by its name below `templates/`, `serve/serve.sh.j2`."""
    return {
        f"{area.name}/{template.name}": template.read_text(encoding="utf-8")
        for area in shipped("templates").iterdir()
        if area.is_dir()
        for template in area.iterdir()
        if template.name.endswith(".j2")
    }
