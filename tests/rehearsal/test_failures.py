"""Every failure script ends as it says, and is judged right from the log that it leaves."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version
from rehearsals import Running, running

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.triage import triage_text
from dsv4deploy.rehearsal.failure import Failure, failures
from dsv4deploy.signatures import catalogue, compiled

Folder = Callable[[str], Path]
# Nothing in their log tells them from a start that is slow; only time and HTTP do.
SILENT = {"nccl-init-hang"}
# Version and number of ranks; one rank has no prefix in the log.
STACKS = [("0.5.10.post1", "1"), ("0.5.13.post1", "4"), ("0.5.17", "1"), ("0.5.21", "4"), ("0.5.23", "2")]


@pytest.fixture(scope="session")
def signatures() -> Catalogue:
    return Catalogue(compiled(catalogue()))


def reached(server: Running, failure: Failure) -> None:
    """Bring the server to the failure, and wait for its end where it has one."""
    if failure.stage == "serve":
        server.wait_for("fired up")
        if failure.end != "hang":
            server.ask("/v1/completions", {"prompt": "a"})
    if failure.end == "hang":
        server.wait_for("fired up" if failure.stage == "serve" else "server_args=")
        with pytest.raises(TimeoutError):
            wait(server, 0.4)
    else:
        wait(server, 20)


def wait(server: Running, seconds: float) -> None:
    try:
        server.process.wait(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise TimeoutError from late


def ends_and_is_judged(
    failure: Failure, stack: tuple[str, str], folder: Path, log: Path, signatures: Catalogue
) -> None:
    asked = failure.name + (":seconds=0" if (failure.stage, failure.end) == ("serve", "hang") else "")
    with running(folder, log, "--tp-size", stack[1], env={"DSV4_REHEARSAL_FAIL": asked}) as server:
        reached(server, failure)
        code = server.process.returncode
        assert failure.end == "hang" or not server.alive()
    told = triage_text(server.log, signatures)
    assert told["class"] == (None if failure.name in SILENT else failure.triage)
    # A line without a rank does not tell how far its rank had come.
    if told["class"] and failure.text.startswith("<now>"):
        assert told["stage"] == failure.stage
    ends = {"exit": failure.code, "hang": None, "sigquit": -signal.SIGKILL}
    assert code == ends.get(failure.end, -signal.SIGKILL if failure.stage == "serve" else 1)


@pytest.mark.parametrize(("number", "failure"), list(enumerate(failures())), ids=[each.name for each in failures()])
def test_a_failure_ends_and_is_judged_as_its_script_says(
    number: int, failure: Failure, folder: Folder, log: Path, signatures: Catalogue
) -> None:
    stacks = [stack for stack in STACKS if failure.fits(Version(stack[0]))]
    stack = stacks[number % len(stacks)]
    ends_and_is_judged(failure, stack, folder(stack[0]), log, signatures)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("failure", "stack"),
    [(failure, stack) for failure in failures() for stack in STACKS if failure.fits(Version(stack[0]))],
)
def test_a_failure_is_judged_right_in_every_version(
    failure: Failure, stack: tuple[str, str], folder: Folder, log: Path, signatures: Catalogue
) -> None:
    ends_and_is_judged(failure, stack, folder(stack[0]), log, signatures)
