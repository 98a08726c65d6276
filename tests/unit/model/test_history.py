"""The merged history gives back every version, and the life of every name."""

import pytest

from dsv4deploy.model.flag import ABSENT, Catalogue, EnvVar, Flag
from dsv4deploy.model.history import Change, History, Overlay, Restriction, UnknownVersionError, merged

OLD = Flag("--old", "old", ("--older",), type="int", default=1)
NEW = Flag("--new", "new", type="int", choices=(1, 2), default=ABSENT)
GRAPH = Flag("--graph", "graph", type="graph-config", keys={"decode": ("bs", "max_bs")}, refuses=("x",))
VARIABLE = EnvVar("SGLANG_X", "tuple", ("a",))


def catalogue(version: str, *flags: Flag, variables: tuple[EnvVar, ...] = ()) -> Catalogue:
    return Catalogue(version, {flag.name: flag for flag in flags}, {each.name: each for each in variables})


VERSIONS = (
    catalogue("0.1", OLD),
    catalogue("0.2", OLD, GRAPH),
    catalogue("0.2.post1", NEW, GRAPH, variables=(VARIABLE,)),
    catalogue("0.3", OLD, NEW),
)


def history(**overlay: object) -> History:
    flags, variables = merged(VERSIONS)
    return History(tuple(each.version for each in VERSIONS), flags, variables, Overlay(**overlay))  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.version)
def test_a_version_comes_back_as_it_went_in(version: Catalogue) -> None:
    assert history().at(version.version) == version


def test_a_version_that_is_not_known_names_the_nearest() -> None:
    with pytest.raises(UnknownVersionError, match=r"0\.2\.9 is not in the catalogue .*nearest: 0.2.post1"):
        history().at("0.2.9")
    assert history().nearest("0.0.1") == "0.1"
    assert history().nearest("a fork") == "0.3"
    assert history().nearest("0.3+local") == "0.3"


def test_a_life_has_its_gaps() -> None:
    life = history().life("--old")
    assert life
    assert life.spans == (("0.1", "0.2"), ("0.3", "0.3"))
    assert (life.since, life.until) == ("0.1", None)
    assert (life.before("0.2.post1"), life.after("0.2.post1")) == ("0.2", "0.3")
    assert history().life("--older") == life
    assert history().life("--never") is None


def test_a_name_that_ended_says_when() -> None:
    life = history().life("--graph")
    assert life
    assert life.until == "0.2.post1"
    assert life.after("0.3") is None


def test_successors_are_followed_in_both_directions() -> None:
    known = history(changes={"--graph": Change("--graph", ("--old",)), "--old": Change("--old", ("--new",))})
    graph, new = known.life("--graph"), known.life("--new")
    assert graph
    assert new
    assert new.renamed_from == ("--old",)
    assert known.counterparts(graph, known.at("0.2.post1")) == ("--new",)
    assert known.counterparts(new, known.at("0.1")) == ("--old",)


def test_a_restriction_holds_from_its_first_to_its_last_version() -> None:
    rules = (Restriction("--old", since="0.2", until="0.2", choices=("7",)), Restriction("--new", least=1))
    known = history(restrictions=rules)
    assert [flag.accepts if (flag := known.at(v).flag("--old")) else None for v in ("0.1", "0.2", "0.3")] == [
        None,
        ("7",),
        None,
    ]
    flag = known.at("0.3").flag("--new")
    assert flag
    assert flag.limits == "at least 1"
    assert not flag.within(0)
