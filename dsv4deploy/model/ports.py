"""What the stages need of the outside world, as protocols that the rim fulfils."""

from typing import Protocol


class Texts(Protocol):
    """Files that a person wrote."""

    def read(self, path: str) -> bytes:
        """The bytes of the file at `path`.

        Raises:
            Trouble: there is no such file, it is no file, it may not be read, or it is larger than a text can be.
        """
        ...
