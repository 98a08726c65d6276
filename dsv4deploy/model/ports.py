"""What the stages need of the outside world, as protocols that the rim fulfils."""

from typing import TYPE_CHECKING, Protocol

from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History

if TYPE_CHECKING:
    from dsv4deploy.model.mark import Mark


class Texts(Protocol):
    """Files that a person wrote."""

    def read(self, path: str) -> bytes:
        """The bytes of the file at `path`.

        Raises:
            Trouble: there is no such file, it is no file, it may not be read, or it is larger than a text can be.
        """
        ...


class Folders(Texts, Protocol):
    """Files that a person wrote, and folders that hold parts of them."""

    def inside(self, folder: str, name: str) -> bytes:
        """The bytes of the file `name` in `folder`, a wheel perhaps.

        Raises:
            Trouble: it cannot be read, or is a link that leads out of the folder.
        """
        ...


class Catalogues(Protocol):
    """Flag catalogues of engine versions."""

    @property
    def history(self) -> History:
        """Every known release."""
        ...

    def of(self, version: str, path: str | None) -> Catalogue:
        """The catalogue in the file at `path`, or that of the release `version`.

        Raises:
            UnknownVersionError: no such release is known.
            Trouble: the file cannot be read.
        """
        ...


class Models(Protocol):
    """Folders of model files."""

    def at(self, path: str) -> ModelReading | None:
        """What the folder at `path` tells; None if there is none here.

        Raises:
            Trouble: it is there and cannot be read.
        """
        ...


class Marks(Protocol):
    """Marks that stand beside profiles."""

    def beside(self, profile: str, *, rehearsal: bool) -> "tuple[Mark, ...]":
        """All marks of the project that the profile at `profile` belongs to; those of rehearsals stand apart.

        Raises:
            Trouble: one of them cannot be read.
        """
        ...
