"""The kinds of text that a person may write: words for argv, paths, names."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from dsv4deploy.model.shapes import DIGEST, NAME, VARIABLE, VERSION

LONGEST = 65_536
_HOME = re.compile(r"~[^/]*/")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def unfit(why: str, remedy: str) -> PydanticCustomError:
    """What a validator raises: why the value does not do, and what to write instead."""
    return PydanticCustomError("unfit", "{why}", {"why": why, "remedy": remedy})


def _argument(text: str) -> str:
    if "\0" in text:
        raise unfit("a NUL character cannot be part of an argument or variable", "remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise unfit("half a surrogate pair is no text", "write the whole character") from None
    if len(text) > LONGEST:
        raise unfit(f"longer than {LONGEST} characters, more than one argument may safely hold", "put it in a file")
    return text


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise unfit("must be absolute: the node has no idea of your working directory", f"write /.../{text}")
    if _CONTROL.search(text):
        raise unfit("control characters cannot stand in a path that systemd or Docker reads", "rename the file")
    if any(part in {".", ".."} for part in text.split("/")):
        raise unfit("`.` and `..` must be resolved: paths are compared as they are written", "write the path without")
    return _argument(text)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise unfit(
            f"is no regular expression: {error}", "escape what has a meaning there, such as \\\\( and \\\\["
        ) from None
    return text


def _line(text: str) -> str:
    if _CONTROL.search(text):
        raise unfit("must be one line without control characters", "write it on one line")
    return _argument(text)


def _location(text: str) -> str:
    if _HOME.match(text):
        raise unfit(
            "no shell reads it on the node, so that `~` stays as it is", "write the whole path, such as /home/..."
        )
    return _argument(text)


Argument = Annotated[str, AfterValidator(_argument)]
Line = Annotated[str, AfterValidator(_line), Field(min_length=1)]
Pattern = Annotated[Line, AfterValidator(_pattern)]
Path = Annotated[str, AfterValidator(_path)]
Location = Annotated[str, AfterValidator(_location)]
Name = Annotated[str, Field(pattern=NAME)]
VariableName = Annotated[str, Field(pattern=VARIABLE)]
Digest = Annotated[str, Field(pattern=DIGEST)]
Version = Annotated[str, Field(pattern=VERSION)]
