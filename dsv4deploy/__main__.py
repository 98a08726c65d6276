"""The door: `dsv4deploy` and `python -m dsv4deploy` both enter here."""

import gc
import os
import sys

SELDOM = 200_000  # new values between two looks; Python looks after 700


def main() -> None:
    """Run the command line; `--version` alone is answered without loading it."""
    if sys.argv[1:] == ["--version"]:
        from dsv4deploy import __version__  # noqa: PLC0415 (start fast)

        print(f"dsv4deploy {__version__}")  # noqa: T201 (this is the answer)
        return
    # Pydantic would read the metadata of every installed package in search of plugins, a tenth of a short run.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Commands make many values that live to the end: to look for garbage among them takes a tenth of a short run.
    gc.set_threshold(SELDOM)
    from dsv4deploy.cli.app import run  # noqa: PLC0415 (start fast)

    code = run(sys.argv[1:])
    # What is left lives to the end: before it ends, Python would look through all of it for garbage, a fifth of a run.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
