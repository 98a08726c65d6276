"""The door: `dsv4deploy` and `python -m dsv4deploy` both enter here."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn, TextIO

SELDOM = 200_000  # new values between two looks; Python looks after 700
UNWRITTEN, INTERRUPTED = 3, 130


def main() -> NoReturn:
    """Run the command line and end with its exit code.

    At once: streams are flushed and files closed, and Python would first take apart all that was ever loaded.
    """
    os._exit(carried_out())


def carried_out() -> int:
    """The exit code of the command line that was carried out, whatever became of the streams that it wrote to."""
    sys.stdout, sys.stderr = map(_speaking, (sys.stdout, sys.stderr))
    _end_as_with_ctrl_c()
    try:
        code = _run(sys.argv[1:])
        # What cannot be written is told here, not by Python while it ends.
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = _forget_the_rest(0)
    except OSError as error:
        code = _forget_the_rest(UNWRITTEN)
        with suppress(OSError):  # where the terminal is gone, there is nobody to tell
            print(f"error: the answer cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201 (to the user)
    with suppress(OSError):  # likewise
        sys.stderr.flush()
    return code


def _end_as_with_ctrl_c() -> None:
    """Let SIGTERM and a lost terminal end a command like Ctrl-C, with everything put away; `nohup` has its way."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _run(words: Sequence[str]) -> int:
    """The exit code of a command line; `--version` alone is answered without loading it."""
    if words == ["--version"]:
        from dsv4deploy import __version__  # noqa: PLC0415 (start fast)

        print(f"dsv4deploy {__version__}")  # noqa: T201 (this is the answer)
        return 0
    # Pydantic would read the metadata of every installed package in search of plugins, a tenth of a short run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Commands make many values that live to the end: to look for garbage among them takes a tenth of a short run.
    gc.set_threshold(SELDOM)
    from dsv4deploy.cli.app import run  # noqa: PLC0415 (start fast)

    return run(words)


def _forget_the_rest(code: int) -> int:
    """Let what is still to be written vanish: the reader (`| head`) has gone, or there is no room."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _speaking(stream: TextIO | None) -> TextIO:
    """A stream that takes every character, also where the locale has no byte for it; None was closed (`>&-`)."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 (it is open to the end; pathlib is slow to load)


if __name__ == "__main__":
    main()
