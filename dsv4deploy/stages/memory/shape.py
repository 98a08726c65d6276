"""Reading a model's shape where every number is needed: one that is missing ends the formula with its name."""

from dsv4deploy.model.checkpoint import Geometry


class MissingError(LookupError):
    """The shape does not say `args[0]`."""


def numbers(shape: Geometry, *names: str) -> tuple[int, ...]:
    """These fields of the shape.

    Raises:
        MissingError: one of them is not known.
    """
    found = tuple(getattr(shape, name) for name in names)
    for name, value in zip(names, found, strict=True):
        if value is None:
            raise MissingError(name)
    return found
