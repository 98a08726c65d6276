"""Finds what ships beside the code: templates and playbooks, in a wheel or in a checkout."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def shipped(folder: str) -> Traversable:
    """The folder `templates` or `playbooks`: inside an installed package, or beside it in a checkout."""
    package = files("dsv4deploy")
    inside = package / "_shipped" / folder
    return inside if inside.is_dir() else package / ".." / folder


def templates() -> dict[str, str]:
    """Every template by its name below `templates/`, `serve/serve.sh.j2`."""
    return {
        f"{area.name}/{template.name}": template.read_text(encoding="utf-8")
        for area in shipped("templates").iterdir()
        if area.is_dir()
        for template in area.iterdir()
        if template.name.endswith(".j2")
    }
