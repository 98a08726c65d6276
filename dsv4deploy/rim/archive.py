"""Writes texts into a compressed archive that only its owner may read."""

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from dsv4deploy.model.trouble import Trouble


def write(path: Path, folder: str, files: Mapping[str, str]) -> None:
    """Put `files` below `folder` into a tar.gz at `path`.

    Raises:
        Trouble: it cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
            for name, text in files.items():
                data = text.encode()
                info = tarfile.TarInfo(f"{folder}/{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}") from None
