"""Is a patched kernel right beside its reference, and does it survive a capture?"""

import importlib.util
from collections.abc import Callable
from typing import Any

from dsv4deploy.probes.capture import captured, compared, warmed
from dsv4deploy.probes.case import Case, Here, UnknownError, WrongError


def _patched(here: Here) -> None:
    """Run what each `FILE:FUNCTION` names: a function without arguments that returns (kernel, reference)."""
    if not here.ask.kernels:
        raise UnknownError("needs --kernel FILE:FUNCTION, or --profile with a patch that has a trial")
    for named in here.ask.kernels:
        here.enter(f"import {named}")
        kernel, reference = _trial(named)()
        here.enter(f"reference of {named}")
        expected = reference()
        warmed(here, kernel)
        try:
            compared(here, kernel(), expected, "eager")
            captured(here, kernel, expected)
        except WrongError as error:
            raise WrongError(f"{named}: {error}") from None
        here.note(kernels=list(here.ask.kernels[: here.ask.kernels.index(named) + 1]))


def _trial(named: str) -> Callable[[], Any]:
    file, _, function = named.rpartition(":")
    described = importlib.util.spec_from_file_location("patched_kernel_trial", file)
    if described is None or described.loader is None:
        raise UnknownError(f"needs a Python file, and {file} is none")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    found: Callable[[], Any] = getattr(module, function)
    return found


CASES = (
    Case(
        "patched-kernel",
        "a patched kernel beside its reference, eagerly and captured",
        _patched,
        remedy="do not serve with this patch: take it out of kernels.patches, or set its toggle to the stock kernel",
    ),
)
