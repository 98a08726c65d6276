"""Versions compare as the packaging library compares them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from dsv4deploy.node.versions import fits

VERSIONS = st.sampled_from(
    ["0.5.13", "0.5.13.post1", "0.5.14", "0.5.14rc1", "0.5.14.dev3", "0.5", "0.5.0", "1.0", "0.5.13.post1.dev2", "2.11.0+cu128"]
)  # fmt: skip
WANTED = st.sampled_from(["0.5.13", "0.5.13.post1", "0.5.14", "0.5.14rc1", "0.5", "1.0", "2.11.0"])


@given(
    VERSIONS,
    st.lists(st.tuples(st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~="]), WANTED), min_size=1, max_size=2),
)
def test_it_judges_as_packaging_does(version: str, clauses: list[tuple[str, str]]) -> None:
    specifier = ",".join(sign + wanted for sign, wanted in clauses)
    assert fits(version, specifier) == SpecifierSet(specifier).contains(version, prereleases=True), (version, specifier)


@pytest.mark.parametrize("specifier", ["==0.5.*", "!=0.5.*", "==0.5.13.*"])
@pytest.mark.parametrize("version", ["0.5.13.post1", "0.6.0", "0.5"])
def test_a_star_stands_for_the_rest(version: str, specifier: str) -> None:
    assert fits(version, specifier) == SpecifierSet(specifier).contains(version, prereleases=True)


@pytest.mark.parametrize(("version", "specifier"), [("x", ">=1"), ("1", "1"), ("1", ">=")])
def test_what_is_no_version_is_told(version: str, specifier: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        fits(version, specifier)
