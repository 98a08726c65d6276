"""What the real argument resolver of a release refuses is an error of ours before anything is launched, and nothing else.

A rule may know what fails later, in a kernel or while weights load; one that says that the resolver refuses must not
speak of what it takes.
"""

import pytest
from real_resolver import HOLES, Resolvers
from refusals import Launch, errors, launches, of_the_resolver

CI = [pytest.param(one, marks=pytest.mark.oracle) for one in launches(400, seed=1)]
MORE = [pytest.param(one, marks=pytest.mark.soak) for one in launches(5000, seed=2)]


@pytest.mark.parametrize("launch", [*CI, *MORE])
def test_what_the_resolver_refuses_is_an_error_and_what_it_takes_is_none_of_its_own(
    resolvers: Resolvers, launch: Launch
) -> None:
    version, sm, kind, model, line = launch
    refused = resolvers[version].ask(line.split(), sm, kind, model, [], check=True).get("refused", "")
    ours = errors(*launch)
    if not refused:
        assert not of_the_resolver() & {*ours}
    elif not refused.startswith(HOLES):
        assert ours, refused
