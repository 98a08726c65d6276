"""Reads the files that a person wrote, and says in one line why one cannot be read."""

import stat
from pathlib import Path

from dsv4deploy.model.trouble import Trouble

# Far more than any text written by hand; what is larger was named by mistake.
LARGEST = 16 * 1024 * 1024


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
                raise Trouble(f"{path} is no file but a device or a socket")
            with Path(path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            raise Trouble(f"there is no file {path}") from None
        except (OSError, ValueError) as error:
            raise Trouble(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if len(data) > LARGEST:
            raise Trouble(f"{path} is larger than {LARGEST // 2**20} MiB: that is no text written by hand")
        return data
