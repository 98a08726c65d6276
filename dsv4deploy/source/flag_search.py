"""Finds flags and variables by a name or a part of one."""

from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History
from dsv4deploy.model.nearest import likely
from dsv4deploy.model.trouble import Exit, Trouble


def found(wanted: str, catalogue: Catalogue, history: History) -> list[str]:
    """Names that `wanted` means: itself, with or without its dashes; else all that contain it; all flags if it is empty.

    Raises:
        Trouble: nothing of any release is called like that.
    """
    if not wanted:
        return sorted(catalogue.flags)
    everything = {*history.spellings, *catalogue.spellings, *catalogue.variables}
    exact = next((name for name in (wanted, f"--{wanted}", _flag_of(wanted)) if name in everything), None)
    if exact is not None:
        return [exact]
    part = wanted.lower().removeprefix("--").replace("_", "-")
    names = sorted(name for name in everything if part in name.lower().replace("_", "-"))
    if not names:
        close = likely(wanted, everything)
        remedy = f"did you mean {' or '.join(close)}?" if close else "list all with: dsv4deploy flags"
        raise Trouble(f"no release has {wanted}", remedy, Exit.USAGE)
    return names


def _flag_of(dest: str) -> str:
    return "--" + dest.replace("_", "-")
