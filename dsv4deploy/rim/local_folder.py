"""Model folders of this machine."""

from collections.abc import Mapping
from pathlib import Path

from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.trouble import Trouble


class LocalFolder:
    """The files of one folder; links are followed, as in a cache of Hugging Face's hub."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise Trouble(f"{path} is no folder", "name the folder that holds config.json and *.safetensors")
        self._path = path

    def files(self) -> Mapping[str, int]:
        """Size in bytes of every file directly in it; a dangling link counts as missing."""
        try:
            return {found.name: found.stat().st_size for found in self._path.iterdir() if found.is_file()}
        except OSError as error:
            raise Trouble(
                f"cannot read {self._path}: {error.strerror}", "check owner and mode of the folder"
            ) from error

    def read(self, name: str, start: int, count: int) -> bytes:
        """At most `count` bytes of a file from `start` on."""
        try:
            with (self._path / name).open("rb") as file:
                file.seek(start)
                return file.read(count)
        except OSError as error:
            raise Trouble(
                f"cannot read {self._path / name}: {error.strerror}", "check owner and mode of the file"
            ) from error


class LocalModels:
    """The folders that happen to be here; a name of a hub, or a path of another machine, is none."""

    def at(self, path: str) -> ModelReading | None:
        """What the folder at `path` tells; None if it holds no model."""
        folder = Path(path)
        if not (folder / "config.json").is_file():
            return None
        from dsv4deploy.source.model_folder import read_model_folder  # noqa: PLC0415 (seldom here; a check starts fast)

        return read_model_folder(LocalFolder(folder))
