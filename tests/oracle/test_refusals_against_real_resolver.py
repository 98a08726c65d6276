"""What the real argument resolver of a release refuses is an error of ours before anything is launched."""

import pytest
from real_resolver import HOLES, Resolvers
from refusals import Launch, errors, launches

CI = [pytest.param(one, marks=pytest.mark.oracle) for one in launches(300, seed=1)]
MORE = [pytest.param(one, marks=pytest.mark.soak) for one in launches(5000, seed=2)]


@pytest.mark.parametrize("launch", [*CI, *MORE])
def test_what_the_resolver_refuses_is_an_error(resolvers: Resolvers, launch: Launch) -> None:
    version, sm, kind, model, line = launch
    refused = resolvers[version].ask(line.split(), sm, kind, model, []).get("refused", "")
    if refused and not refused.startswith(HOLES):
        assert errors(*launch), refused
