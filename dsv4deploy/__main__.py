"""The door: `dsv4deploy` and `python -m dsv4deploy` both enter here."""

import sys


def main() -> None:
    """Run the command line; `--version` alone is answered without loading it."""
    if sys.argv[1:] == ["--version"]:
        from dsv4deploy import __version__  # noqa: PLC0415 (start fast)

        print(f"dsv4deploy {__version__}")  # noqa: T201 (this is the answer)
        return
    from dsv4deploy.cli.app import run  # noqa: PLC0415 (start fast)

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
