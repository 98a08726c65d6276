"""The data that ships is consistent with itself, and every removed flag says what became of it."""

import gzip
import json
from importlib import resources
from pathlib import Path

import pytest

import dsv4deploy.flags
from dsv4deploy.flags import history
from dsv4deploy.rim.catalogue_file import read_overlay

OVERLAY = Path(dsv4deploy.flags.__file__).parent / "overlay"
FLAGS = sorted(name for name in history().spellings if name.startswith("--"))
ENDED = [name for name in FLAGS if (life := history().life(name)) and life.until]


def test_every_release_from_0_5_6_on_is_there() -> None:
    assert len(history().versions) == 25
    assert (history().versions[0], history().versions[-1]) == ("0.5.6", "0.5.23")


def test_the_overlay_that_ships_is_that_of_the_yaml_files() -> None:
    data = resources.files(dsv4deploy.flags).joinpath("sglang.json.gz").read_bytes()
    assert json.loads(gzip.decompress(data))["overlay"] == read_overlay(OVERLAY), "run: make catalogue"


@pytest.mark.parametrize("name", ENDED)
def test_a_flag_that_ended_names_its_successor_or_says_why_it_has_none(name: str) -> None:
    life = history().life(name)
    assert life
    assert life.renamed_to or life.note


def test_names_in_the_overlay_are_those_of_flags_and_variables() -> None:
    overlay = history().overlay
    changed = [name for change in overlay.changes.values() for name in (change.old, *change.new)]
    foreign = [name for each in overlay.foreign.values() for name in each.write]
    restricted = [rule.name for rule in overlay.restrictions]
    for name in (*changed, *foreign, *restricted, *overlay.meanings):
        assert history().life(name.partition(" ")[0]), name


def test_a_foreign_flag_is_none_of_sglang() -> None:
    assert [name for name in history().overlay.foreign if history().life(name)] == []


def test_every_change_and_every_check_after_parsing_has_a_source() -> None:
    overlay = history().overlay
    assert all(change.source for change in overlay.changes.values())
    assert all(rule.source for rule in overlay.restrictions if rule.since)


@pytest.mark.parametrize("version", history().versions)
def test_a_dest_has_one_flag_to_write_it_which_is_not_deprecated_where_another_is(version: str) -> None:
    catalogue = history().at(version)
    for flag in catalogue.flags.values():
        chosen = catalogue.by_dest(flag.dest)
        assert chosen is None or not chosen.deprecated or flag.deprecated
        if flag.name == "--" + flag.dest.replace("_", "-") and not flag.deprecated:
            assert chosen is flag
