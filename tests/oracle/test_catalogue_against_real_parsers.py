"""The extracted and the shipped catalogue equal what the real argument parsers of SGLang hold."""

from collections.abc import Mapping
from typing import Any

import pytest
from real_parser import RealParser, real_parser, wheel

from dsv4deploy.flags import history
from dsv4deploy.model.flag import ABSENT, Catalogue, Flag
from dsv4deploy.rim.catalogue_file import extracted

# The first and the last release, and one of each form in which the flags were defined.
IN_CI = ("0.5.6", "0.5.13.post1", "0.5.16", "0.5.20", "0.5.23")
VERSIONS = [
    pytest.param(version, marks=pytest.mark.oracle if version in IN_CI else pytest.mark.soak)
    for version in history().versions
]
TYPES = {
    "human-int": "human_readable_int",
    "json": "loads",
    "json-list": "json_list_type",
    "nullable-str": "nullable_str",
    "graph-config": "parse_cuda_graph_config_arg",
    "graph-backend": "parse_cuda_graph_backend_arg",
}
ACTIONS = {
    "_StoreAction": ("store", False),
    "_StoreTrueAction": ("store-true", False),
    "_StoreFalseAction": ("store-false", False),
    "BooleanOptionalAction": ("boolean-optional", False),
    "LoRAPathAction": ("lora-paths", False),
    "DeprecatedStoreTrueAction": ("store-true", True),
    "DeprecatedStoreConstAction": ("store-const", True),
    "DeprecatedAliasStoreAction": ("store", True),
}


def real(action: Mapping[str, Any]) -> dict[str, Any]:
    """What argparse holds, in our words."""
    kind, deprecated = ACTIONS.get(action["action"], ("refuse" if action["refusal"] else "ignore", True))
    default, choices = action["default"], action["choices"]
    return {
        "names": set(action["names"]),
        "dest": action["dest"],
        "type": action["type"],
        "choices": None if choices is None else sorted(map(str, choices)),
        "default": ABSENT if default == {"suppressed": True} else default,
        "nargs": action["nargs"],
        "required": action["required"],
        "action": kind,
        "deprecated": deprecated,
        "const": action["const_value"] if kind == "store-const" else None,
        "successor": action["refusal"] or action["new_flag"],
    }


def ours(flag: Flag) -> dict[str, Any]:
    """What the catalogue holds, as argparse would."""
    typed = flag.action in {"store", "lora-paths"} and flag.type != "bool"
    return {
        "names": set(flag.names),
        "dest": flag.dest,
        "type": TYPES.get(flag.type, flag.type) if typed else None,
        "choices": None if flag.choices is None else sorted(map(str, flag.choices)),
        "default": list(flag.default) if isinstance(flag.default, tuple) else flag.default,
        "nargs": flag.nargs,
        "required": flag.required,
        "action": flag.action,
        "deprecated": flag.deprecated,
        "const": flag.const if flag.action == "store-const" else None,
        "successor": flag.successor,
    }


def differences(parser: RealParser, catalogue: Catalogue) -> list[str]:
    found = []
    known = dict(catalogue.flags)
    for action in parser.actions:
        flag = catalogue.flag(action["names"][0])
        if flag is None:
            found.append(f"{action['names'][0]} is missing")
            continue
        known.pop(flag.name, None)
        told, held = ours(flag), real(action)
        if held["type"] is None and flag.action == "store" and flag.type == "str":
            held["type"] = "str"
        found += [f"{flag.name} {key}: {told[key]!r}, really {held[key]!r}" for key in held if told[key] != held[key]]
    return [*found, *(f"{name} does not exist" for name in known)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_read_from_a_wheel_is_what_its_parser_holds(version: str) -> None:
    catalogue, problems = extracted(wheel(version))
    assert not problems
    assert differences(real_parser(version), catalogue) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_shipped_is_what_is_read_from_the_wheel(version: str) -> None:
    shipped = history()
    catalogue, _ = extracted(wheel(version))
    assert shipped.at(version) == shipped.dressed(catalogue)
