"""A header is believed only as far as it was checked."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.source.safetensors import CutShortError, HeaderError, Tensor, header_length, parse_header
from tests.folders import safetensors


def test_a_real_file_gives_tensors_and_its_size() -> None:
    data = safetensors({"a": ("BF16", [2, 3], 12), "b": ("F32", [], 4)})
    length = header_length(data[:8], len(data))
    header = parse_header(data[8 : 8 + length])
    assert header.tensors == (Tensor("a", "BF16", (2, 3), 12), Tensor("b", "F32", (), 4))
    assert header.file_size == len(data)


def test_metadata_is_no_tensor() -> None:
    assert parse_header(b'{"__metadata__": {"format": "pt"}}').tensors == ()


@pytest.mark.parametrize(("first", "size"), [(b"", 0), (b"\1\0", 2), ((100).to_bytes(8, "little"), 50)])
def test_a_file_that_ends_inside_its_header_is_cut_short(first: bytes, size: int) -> None:
    with pytest.raises(CutShortError):
        header_length(first, size)


def test_an_absurd_length_is_refused_before_anything_is_read() -> None:
    with pytest.raises(HeaderError, match="would be"):
        header_length((1 << 40).to_bytes(8, "little"), 1 << 50)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_header_or_are_refused(text: bytes) -> None:
    with contextlib.suppress(HeaderError):
        parse_header(text)
