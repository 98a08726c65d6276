"""What a patch says of itself in its `patch.yaml`, and a patch that was read: its words with its bytes."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dsv4deploy.model.profile.engine import Provides
from dsv4deploy.model.profile.section import Natural, Section
from dsv4deploy.model.shapes import MODULE, PACKAGE
from dsv4deploy.model.text import Argument, Digest, Line, Name, VariableName, unfit

_ONE = r"\s*(==|!=|<=|>=|<|>|~=)\s*[\w.+!-]+\*?\s*"
_RANGE = re.compile(f"{_ONE}(,{_ONE})*")


def _inside(text: str) -> str:
    if text.startswith(("/", "~")) or "\\" in text or any(part in {"", ".", ".."} for part in text.split("/")):
        raise unfit(
            "must be a plain path below its folder: no `..`, no `.`, nothing absolute",
            "write where it is below that folder, such as srt/layers/attention/decode.py",
        )
    return text


def _range(text: str) -> str:
    if not _RANGE.fullmatch(text):
        exact = f'"=={text}" or ' if text[:1].isdigit() else ""
        raise unfit("must be a range of versions", f'write {exact}">=0.5.13,<0.5.14"')
    return text


def _arch(text: str) -> str:
    if not re.fullmatch(r"sm_\d{2,3}[a-z]?", text):
        raise unfit("must be a compute capability", "write it as nvcc does, such as sm_120 or sm_90a")
    return text


Inside = Annotated[Line, AfterValidator(_inside)]
Module = Annotated[str, Field(pattern=MODULE)]
Package = Annotated[str, Field(pattern=PACKAGE)]
Specifier = Annotated[str, AfterValidator(_range)]
Arch = Annotated[str, AfterValidator(_arch)]
Kind = Literal["overlay", "diff", "wheel", "tuning"]


class Fits(Section):
    """What the patch was made for; anything else is refused before a file is touched."""

    package: Annotated[Package, Field(description="import name of the package that it changes, such as sglang")]
    distribution: Annotated[
        Line | None, Field(description="name of its distribution; left out: that of the package")
    ] = None
    versions: Annotated[Specifier | None, Field(description='versions of it, such as ">=0.5.13,<0.5.14"')] = None
    files: Annotated[
        dict[Inside, Digest],
        Field(default_factory=dict, description="SHA-256 of files of the package as they must be before"),
    ]
    python: Annotated[Specifier | None, Field(description='versions of Python, such as ">=3.10"')] = None
    arch: Annotated[
        tuple[Arch, ...], Field(description="compute capabilities that its kernels run on; left out: any")
    ] = ()
    requires: Annotated[
        dict[Line, Specifier],
        Field(default_factory=dict, description="versions of further distributions, such as triton"),
    ]

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.versions is None and not self.files:
            raise unfit(
                "needs `versions` or `files`: a patch that fits everything fits nothing for long",
                'add `versions: "==0.5.23"`, or under `files` the SHA-256 of what it replaces',
            )
        return self


class PatchFile(Section):
    """One whole file that is laid over the package."""

    path: Annotated[Inside, Field(description="where it goes, inside the package")]
    file: Annotated[Inside | None, Field(description="file in the patch folder; left out: files/ and the path")] = None
    sha256: Annotated[Digest | None, Field(description="SHA-256 of the file in the patch folder")] = None

    @property
    def source(self) -> str:
        return self.file or f"files/{self.path}"


class PatchDiff(Section):
    """One unified diff; it may change several files, whose names count from the package on."""

    file: Annotated[Inside, Field(description="file in the patch folder")]
    sha256: Annotated[Digest | None, Field(description="SHA-256 of that file")] = None


class PatchWheel(Section):
    """One wheel that takes the place of the installed distribution."""

    file: Annotated[Inside, Field(description="file in the patch folder, with its full wheel name")]
    sha256: Annotated[Digest, Field(description="SHA-256 of that file")]


class Toggle(Section):
    """The environment variable that the patched code reads."""

    name: Annotated[VariableName, Field(description="name of the variable")]
    values: Annotated[dict[str, Line], Field(default_factory=dict, description="what each value does")]


class ServerInfo(Section):
    """One field of the running server's `/server_info`."""

    field: Annotated[Line, Field(description="name of the field")]
    value: Annotated[Argument | None, Field(description="its value as text; left out: any but null and false")] = None


class Proof(Section):
    """How to see that the patched code is what runs."""

    module: Annotated[Module | None, Field(description="module that must come from the patched place")] = None
    symbol: Annotated[Module | None, Field(description="name that the module must define")] = None
    log: Annotated[
        Line | None, Field(description="text that the server's log holds once the patched code is active")
    ] = None
    server_info: Annotated[ServerInfo | None, Field(description="what the running server says of itself")] = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.symbol and not self.module:
            raise unfit(
                "`symbol` needs the `module` that defines it", "add `module:`, such as sglang.srt.layers.moe.utils"
            )
        return self


class Trial(Section):
    """How the patched kernel is tried without the engine: a Python file in the patch folder, and a function in it."""

    file: Annotated[Inside, Field(description="file in the patch folder; it imports the patched package")]
    function: Annotated[
        Package, Field(description="takes nothing and returns two callables: the kernel, and its reference")
    ] = "trial"


class DropWhen(Section):
    """The upstream version that makes the patch unnecessary."""

    versions: Annotated[Specifier, Field(description='versions that need it no more, such as ">=0.5.24"')]
    because: Annotated[Line, Field(description="what they have instead")]


class About(Section):
    """A patch: what it changes, what it fits, how it is proved, and when it can go."""

    name: Annotated[Name, Field(description="name of the patch, that of its folder")]
    summary: Annotated[Line, Field(description="what it does, in one sentence")]
    kind: Annotated[Kind, Field(description="whole files, unified diffs, a wheel, or tuning tables")]
    fits: Annotated[Fits, Field(description="what it was made for")]
    files: Annotated[tuple[PatchFile, ...], Field(description="whole files, for overlay and tuning")] = ()
    diffs: Annotated[tuple[PatchDiff, ...], Field(description="unified diffs, in order")] = ()
    wheel: Annotated[PatchWheel | None, Field(description="the wheel")] = None
    fuzz: Annotated[
        Natural,
        Field(le=3, description="lines at each end of a hunk that may differ; above 0 a hunk may also move"),
    ] = 0
    toggle: Annotated[Toggle | None, Field(description="environment variable that switches it")] = None
    provides: Annotated[
        tuple[Provides, ...], Field(description="what it makes work that the stock engine does not")
    ] = ()
    proof: Annotated[Proof, Field(description="how to see that it is loaded and active")] = Proof()
    trial: Annotated[Trial | None, Field(description="how `dsv4deploy probe --profile` tries its kernel on a node")] = (
        None
    )
    needed_for: Annotated[Line | None, Field(description="what does not work without it")] = None
    drop_when: Annotated[DropWhen | None, Field(description="when it can go")] = None
    origin: Annotated[Line | None, Field(description="where it comes from: link, commit, author")] = None
    license: Annotated[Line | None, Field(description="its license, as SPDX says it")] = None

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        given = {"files": bool(self.files), "diffs": bool(self.diffs), "wheel": self.wheel is not None}
        wanted = {"overlay": "files", "tuning": "files", "diff": "diffs", "wheel": "wheel"}[self.kind]
        if not given.pop(wanted):
            raise unfit(f"a patch of kind {self.kind} needs `{wanted}`", f"add `{wanted}:`, or correct `kind`")
        if extra := [name for name, there in given.items() if there]:
            raise unfit(f"a patch of kind {self.kind} has no `{extra[0]}`", f"remove `{extra[0]}:`, or correct `kind`")
        return self


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a patch: its name in the patch folder, its bytes, and where a whole file goes in the package."""

    name: str
    data: bytes
    target: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 in hex."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch that was read; `touches` are the files that it changes, from the package's name on."""

    about: About
    folder: str
    parts: tuple[Part, ...]
    touches: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 in hex over all that takes effect; a better summary is not another patch."""
        about = self.about
        parts = [[part.name, part.target, part.digest] for part in self.parts]
        effect = [about.kind, about.fits.package, about.fuzz, parts]
        return hashlib.sha256(json.dumps(effect).encode()).hexdigest()
