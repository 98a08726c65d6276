"""Is a patched kernel right beside its reference, and does it survive a capture?"""

import importlib.util

from dsv4deploy.probes.capture import captured, warmed
from dsv4deploy.probes.case import Case, Here, UnknownError


def _patched(here: Here) -> None:
    """Run what `FILE:FUNCTION` names: a function without arguments that returns (kernel, reference), two callables."""
    file, _, function = here.ask.kernel.rpartition(":")
    if not file:
        raise UnknownError("needs --kernel FILE:FUNCTION")
    here.enter("import")
    described = importlib.util.spec_from_file_location("patched_kernel_trial", file)
    if described is None or described.loader is None:
        raise UnknownError(f"needs a Python file, and {file} is none")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    kernel, reference = getattr(module, function)()
    here.enter("reference")
    expected = reference()
    warmed(here, kernel)
    captured(here, kernel, expected)


CASES = (Case("patched-kernel", "a patched kernel beside its reference, eagerly and captured", _patched),)
