"""Where in a profile something that a launch file says belongs: flags, variables, limits, directives of a unit."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from dsv4deploy.model.document import KeyPath
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.place import Place
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.section import Env, Says
from dsv4deploy.stages.launch import USABLE


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of the profile, and where it was found."""

    path: KeyPath
    value: Any
    place: Place | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Directive:
    """Where a limit or a setting of a unit goes, how its value is read, and what is so without being said."""

    path: KeyPath
    read: Callable[[str], Any]
    default: Any = None


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _limit(text: str) -> int | str | None:
    if text in {"infinity", "unlimited"}:
        return "infinity"
    found = re.fullmatch(r"(\d+)([KMGT]?)", text)
    return int(found[1]) * 1024 ** " KMGT".index(found[2] or " ") if found else None


def _seconds(text: str) -> int | None:
    found = re.fullmatch(r"(\d+)\s*(s|sec|min|m|h)?", text)
    return int(found[1]) * {"min": 60, "m": 60, "h": 3600}.get(found[2] or "s", 1) if found else None


# None: a rendered unit has its own, reasoned value.
DIRECTIVES: Mapping[str, Directive | None] = {
    "User": Directive(("service", "user"), str, "sglang"),
    "Group": Directive(("service", "group"), str),
    "SupplementaryGroups": Directive(("service", "groups"), str.split),
    "nofile": Directive(("service", "limits", "nofile"), _whole, 1_048_576),
    "memlock": Directive(("service", "limits", "memlock"), _limit, "infinity"),
    "tasks": Directive(("service", "limits", "tasks"), _limit, "infinity"),
    "core": Directive(("service", "limits", "core"), _limit, 0),
    "Restart": Directive(("service", "restart", "policy"), str, "on-failure"),
    "RestartSec": Directive(("service", "restart", "delay_s"), _seconds, 15),
    "TimeoutStopSec": Directive(("service", "timeouts", "stop_s"), _seconds, 120),
    **dict.fromkeys(
        ("Type", "KillMode", "LimitNOFILE", "LimitMEMLOCK", "LimitCORE", "TasksMax", "LogRateLimitIntervalSec")
    ),
    **dict.fromkeys(("TimeoutStartSec", "TimeoutSec", "WorkingDirectory", "StandardOutput", "StandardError")),
}


def variable_value(path: KeyPath, text: str) -> Any:  # noqa: ANN401 (whatever the field holds)
    """The value for a typed field; the text itself where the field would write it in another way."""
    if path[0] == "env" or path[:2] == ("nccl", "env"):
        return text
    kinds = str(_leaves()[path].annotation)
    if "bool" in kinds:
        return {"1": True, "0": False}.get(text, text)
    return int(text) if "int" in kinds and re.fullmatch(r"0|[1-9]\d{0,17}", text) else text


@cache
def _leaves() -> Mapping[KeyPath, Any]:
    return dict(_walk(Profile, ()))


def _walk(model: type[BaseModel], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _walk(info.annotation, (*path, name))
        else:
            yield (*path, name), info


@cache
def variable_fields() -> Mapping[str, KeyPath]:
    return {note.name: path for path, info in _leaves().items() for note in info.metadata if isinstance(note, Env)}


def flag_fields(catalogue: Catalogue) -> Mapping[str, tuple[KeyPath, bool]]:
    """Which field says a dest in this version, and the value of a boolean field that does."""
    found: dict[str, tuple[KeyPath, bool]] = {}
    for path, info in _leaves().items():
        for note in info.metadata:
            if isinstance(note, Says):
                flags = (catalogue.flag(name) for name in note.flags)
                flag = next((known for known in flags if known and known.action in USABLE), None)
                if flag:
                    found.setdefault(flag.dest, (path, note.when))
    return found


def as_tree(entries: Iterable[Entry]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for entry in entries:
        inner = tree
        *outer, last = map(str, entry.path)
        for step in outer:
            inner = inner.setdefault(step, {})
        inner[last] = entry.value
    return tree


def refused_paths(tree: dict[str, Any]) -> set[KeyPath]:
    try:
        Profile.model_validate(tree)
    except ValidationError as refused:
        known = _leaves()
        locations = [error["loc"] for error in refused.errors()]
        return {loc[:length] for loc in locations for length in range(len(loc) + 1) if loc[:length] in known}
    return set()


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The order of the profile's fields; free names in the order in which they were found."""
    order = {path: at for at, path in enumerate(_leaves())}

    def rank(entry: Entry) -> int:
        return next(order[entry.path[:end]] for end in range(len(entry.path), 0, -1) if entry.path[:end] in order)

    return tuple(sorted(entries, key=rank))


def section(name: str) -> KeyPath:
    return ("nccl", "env") if name.startswith(("NCCL_", "GLOO_")) else ("env",)
