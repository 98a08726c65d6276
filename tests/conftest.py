"""What all tests share: what some need of the machine, and how hypothesis looks for examples.

Without what it needs a test is skipped by name, never passed.
"""

import os
import shutil
from collections.abc import Sequence

import pytest
from hypothesis import settings

# CI says the same about the same commit; new examples are looked for by people, and in the soak.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("people", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "people")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip tests of rendered units where systemd's own tools are not installed."""
    if shutil.which("systemd-analyze") is None:
        for item in items:
            if item.get_closest_marker("systemd"):
                item.add_marker(pytest.mark.skip(reason="needs systemd-analyze"))
