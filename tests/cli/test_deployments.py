"""Which deployment is meant where none is named."""

import pytest

from dsv4deploy.cli.serving import meant
from dsv4deploy.model.observed import Deployment, Observation
from dsv4deploy.model.trouble import Exit, Trouble


def node(**current: str | None) -> Observation:
    has = {name: Deployment(current=digest) for name, digest in current.items()}
    return Observation(root="/opt", boot_id="1", python="3.11", disk_free_mib=1, deployments=has)


def test_the_arms_of_an_experiment_that_is_over_are_not_meant() -> None:
    seen = {"gpu01": node(flash="a" * 64), "gpu02": node(flash="a" * 64, fails=None, control=None)}
    assert meant(seen, None) == "flash"
    assert meant(seen, "fails") == "fails"


def test_a_first_start_that_failed_is_meant_where_there_is_nothing_else() -> None:
    assert meant({"gpu01": node(flash=None)}, None) == "flash"


@pytest.mark.parametrize(
    ("seen", "name", "code", "told"),
    [
        ({"gpu01": node(flash="a", pearl="b")}, None, Exit.USAGE, "there are several deployments: flash, pearl"),
        ({"gpu01": node(flash="a")}, "pearl", Exit.APPLY_FAILED, "no node has a deployment named pearl"),
        ({"gpu01": node()}, None, Exit.APPLY_FAILED, "no node has a deployment"),
        ({"gpu01": "no route to host"}, None, Exit.APPLY_FAILED, "gpu01  unreachable: no route to host"),
    ],
)
def test_where_it_cannot_be_told_that_is_said_with_a_way_on(
    seen: dict[str, Observation | str], name: str | None, code: Exit, told: str
) -> None:
    with pytest.raises(Trouble) as caught:
        meant(seen, name)
    assert (caught.value.message, caught.value.code, bool(caught.value.remedy)) == (told, code, True)
