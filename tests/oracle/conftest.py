"""The real resolvers, one process a release for all tests of a module."""

from collections.abc import Iterator

import pytest
from real_resolver import Resolvers


@pytest.fixture(scope="module")
def resolvers() -> Iterator[Resolvers]:
    """A resolver for each release, which comes up when it is first asked."""
    running = Resolvers()
    yield running
    for one in running.values():
        one.close()
