"""Playbooks keep their promises: specs and defaults say the same, and every option of the action is documented."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
ROLE = PLAYBOOKS / "roles/dsv4"
SPECS: dict[str, Any] = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text())["argument_specs"]
DEFAULTS: dict[str, Any] = yaml.safe_load((ROLE / "defaults/main.yml").read_text())


@pytest.mark.parametrize("entry", SPECS)
def test_specs_and_defaults_say_the_same(entry: str) -> None:
    assert (ROLE / f"tasks/{entry}.yml").exists()
    for name, option in SPECS[entry]["options"].items():
        assert option["default"] == DEFAULTS[name], name


def test_every_variable_is_specified_somewhere() -> None:
    assert set(DEFAULTS) == {name for spec in SPECS.values() for name in spec["options"]}


@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("*.yml")), ids=lambda path: path.name)
def test_every_playbook_names_an_entry_of_the_role(path: Path) -> None:
    (play,) = yaml.safe_load(path.read_text())
    (task,) = play["tasks"]
    assert task["ansible.builtin.import_role"]["tasks_from"] in SPECS
    assert play["gather_facts"] is False


def test_every_option_of_the_action_is_documented() -> None:
    tree = ast.parse((PLAYBOOKS / "action_plugins/dsv4_node.py").read_text())
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_OPTIONS"
    }
    module = ast.parse((PLAYBOOKS / "library/dsv4_node.py").read_text())
    (text,) = [
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "DOCUMENTATION"
    ]
    assert values["_OPTIONS"] == set(yaml.safe_load(text)["options"])


def test_every_verb_of_the_tool_is_documented() -> None:
    from dsv4deploy.node.main import VERBS  # noqa: PLC0415 (only this test needs it)

    module = (PLAYBOOKS / "library/dsv4_node.py").read_text()
    document = yaml.safe_load(module.split('DOCUMENTATION = r"""')[1].split('"""')[0])
    assert set(document["options"]["verb"]["choices"]) == {"observe", *VERBS}
