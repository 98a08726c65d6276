"""What the shell offers where a name of ours is wanted."""

import typer


def rule_names(incomplete: str) -> list[str]:
    """The rules that ship and begin so; nothing is loaded but the names of their files."""
    from dsv4deploy.source.rulebook import SHIPPED

    return sorted(path.stem for path in SHIPPED.glob("*/*.yaml") if path.stem.startswith(incomplete))


def mark_names(incomplete: str) -> list[str]:
    """The marks of the project that is stood in, which are called as their files are."""
    from pathlib import Path

    from dsv4deploy.rim.project import mark_paths

    paths = [path for rehearsal in (False, True) for path in mark_paths(Path(), rehearsal=rehearsal)]
    return [path.stem for path in paths if path.stem.startswith(incomplete)]


def check_names(incomplete: str) -> list[str]:
    """The checks of a running server."""
    from dsv4deploy.node.checks.every import CHECKS

    return [name for name in CHECKS if name.startswith(incomplete)]


def probe_names(incomplete: str) -> list[str]:
    """The probes."""
    from dsv4deploy.probes.case import all_cases

    return [case.name for case in all_cases() if case.name.startswith(incomplete)]


def variant_names(context: typer.Context, incomplete: str) -> list[str]:
    """The variants of the profile that stands on the command line; none if it cannot be read."""
    from dsv4deploy.flow import merged_profile
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Trouble
    from dsv4deploy.rim.texts import Files

    # While a line is half typed, what stands before the option may not have been given to its parameter yet.
    profile = context.params.get("profile") or next(iter(context.args), None)
    try:
        offered = merged_profile(Files(), str(profile)).variants if profile else ()
    except (Refused, Trouble):
        return []
    return [name for name in offered if name.startswith(incomplete)]
