"""What some tests need of the machine: without it they are skipped by name, never passed."""

import shutil
from collections.abc import Sequence

import pytest


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip tests of rendered units where systemd's own tools are not installed."""
    if shutil.which("systemd-analyze") is None:
        for item in items:
            if item.get_closest_marker("systemd"):
                item.add_marker(pytest.mark.skip(reason="needs systemd-analyze"))
