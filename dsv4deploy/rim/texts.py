"""Reads the files that a person wrote and writes those that one asked for, and says in one line why that cannot be."""

import stat
from pathlib import Path

from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.trouble import Exit, Trouble

# Far more than any text written by hand; what is larger was named by mistake.
LARGEST = 16 * 1024 * 1024
# A part of a patch travels inside the release, and so through one connection to every node.
LARGEST_PART = 256 * 1024 * 1024


class Files:
    """The `Texts` of this machine."""

    def read(self, path: str) -> bytes:
        """The bytes of the file at `path`, a pipe included.

        Raises:
            Trouble: it does not exist, may not be read, is a folder or a device, or is larger than `LARGEST`.
        """
        try:
            kind = Path(path).stat().st_mode
            if stat.S_ISDIR(kind):
                raise Trouble(f"{path} is a folder", f"name a file, for instance {path.rstrip('/')}/profile.yaml")
            if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
                raise Trouble(f"{path} is no file but a device or a socket", "put the text into a file")
            with Path(path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            raise Trouble(f"there is no file {path}", _beside(Path(path))) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise Trouble(
                f"{path} cannot be read: {why}", "make it readable for yourself: ls -l shows who may"
            ) from None
        if len(data) > LARGEST:
            raise Trouble(
                f"{path} is larger than {LARGEST // 2**20} MiB: that is no text written by hand",
                "name the file that was meant",
            )
        return data

    def inside(self, folder: str, name: str) -> bytes:
        """The bytes of the regular file `name` in `folder`, at most `LARGEST_PART`.

        Raises:
            Trouble: it cannot be read, is too large, or is a link that leads out of the folder.
        """
        path = Path(folder, name)
        try:
            if not path.resolve(strict=True).is_relative_to(Path(folder).resolve()):
                raise Trouble(f"{path} is a link that leads out of {folder}", "put the file itself there")
            if not path.is_file():
                raise Trouble(f"{path} is no file")
            if path.stat().st_size > LARGEST_PART:
                raise Trouble(f"{path} is larger than {LARGEST_PART // 2**20} MiB", "install it into the venv itself")
            return path.read_bytes()
        except FileNotFoundError:
            raise Trouble(f"there is no file {path}") from None
        except (OSError, RuntimeError) as error:
            raise Trouble(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _beside(path: Path) -> str:
    """What to name instead of a file that is not there: the likeliest beside it, or where there is one at all."""
    try:
        near = nearest(path.name, (one.name for one in path.parent.iterdir() if one.is_file()))
    except OSError:
        return f"there is no folder {path.parent} either"
    return f"did you mean {path.with_name(near)}?" if near else f"look for it: ls {path.parent}"


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all.

    Raises:
        Trouble: it is there, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError:
        raise Trouble(f"{path} exists", "name another file, or remove it first", Exit.USAGE) from None
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "name another file") from None
