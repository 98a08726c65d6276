"""Which engine runs and which checkpoint it serves."""

import re
import shlex
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.model.profile.section import Flag, Section, says
from dsv4deploy.model.shapes import PROGRAM, SIZE
from dsv4deploy.model.text import Argument, Line, Location, Path, VariableName, Version, unfit


class Provides(Section):
    """A value that this build or patch makes work although the stock engine would not; silences rules about stock."""

    setting: Annotated[
        str | None, Field(description="dest name of the engine's setting, such as moe_runner_backend")
    ] = None
    env: Annotated[VariableName | None, Field(description="environment variable that this build reads")] = None
    value: Annotated[Any, Field(description="the value that works; left out: every value of the variable")] = None
    because: Annotated[Line, Field(description="why it works here")]
    evidence: Annotated[Line | None, Field(description="where that was seen: link, log, date")] = None

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.setting is None) == (self.env is None):
            raise ValueError("needs either `setting` or `env`")
        if self.setting and self.value is None:
            raise ValueError("a `setting` needs the `value` that works")
        return self


IMAGE = r"^[a-z0-9][a-zA-Z0-9._/:-]*@sha256:[0-9a-f]{64}$"


def how_to_pin(image: str) -> str:
    """The command that prints the digest of an image that was named by a tag."""
    named = shlex.quote(image or "IMAGE")
    here = f"docker inspect --format '{{{{index .RepoDigests 0}}}}' {named}"
    return f"write what `{here}` prints where it was pulled, or `docker buildx imagetools inspect {named}` anywhere"


def _with_digest(image: str) -> str:
    if not re.fullmatch(IMAGE, image):
        why = "a tag moves, so that an image is named by its digest" if "@" not in image else "that is no digest"
        raise unfit(why, how_to_pin(image.partition("@")[0]))
    return image


class Container(Section):
    """A container image that holds the engine; it is named by digest, because a tag moves."""

    image: Annotated[
        str,
        AfterValidator(_with_digest),
        Field(json_schema_extra={"pattern": IMAGE}, description="repository@sha256:digest"),
    ]
    python: Annotated[str, Field(description="interpreter inside the image", pattern=PROGRAM)] = "python3"
    shm_size: Annotated[str, Field(pattern=SIZE, description="size of /dev/shm")] = "32g"
    mounts: Annotated[
        dict[Path, Path], Field(description="further read-only mounts, host path to path in the container")
    ] = {}
    packages: Annotated[
        dict[str, Path], Field(description="folder in the image of each package that a patch changes, such as sglang")
    ] = {}


class Engine(Section):
    """Which engine runs: its release, build and where it is installed on the node."""

    kind: Annotated[Literal["sglang"], Field(description="the engine")] = "sglang"
    version: Annotated[Version, Field(description="release whose flags and behaviour hold, such as 0.5.21")]
    build: Annotated[
        Line | None, Field(description="name of a fork, commit or patched build; left out: the stock release")
    ] = None
    provides: Annotated[
        tuple[Provides, ...], Field(description="what the build makes work beyond the stock release")
    ] = ()
    venv: Annotated[Path | None, Field(description="virtual environment on the node")] = None
    python_home: Annotated[
        Path | None,
        Field(description="where the venv's interpreter really lives, if that is under a home directory too"),
    ] = None
    container: Annotated[Container | None, Field(description="container image, instead of a venv")] = None
    entry: Annotated[
        Literal["launch_server", "serve"], Field(description="python -m sglang.launch_server, or sglang serve")
    ] = "launch_server"
    catalogue: Annotated[
        Line | None,
        Field(description="flag catalogue of this build, from `dsv4deploy flags extract`; relative to the profile"),
    ] = None
    rehearsal: Annotated[Flag, Field(description="the venv holds the rehearsal engine, which pretends to serve")] = (
        False
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.venv is None) == (self.container is None):
            raise ValueError("needs either `venv` or `container`")
        return self


class Model(Section):
    """Which checkpoint is served, under which name, with which templates and parsers."""

    path: Annotated[Location, says("--model-path"), Field(min_length=1, description="folder on the node, absolute")]
    served_name: Annotated[Argument | None, says("--served-model-name"), Field(description="name in the API")] = None
    revision: Annotated[Argument | None, says("--revision"), Field(description="revision of a hub model")] = None
    trust_remote_code: Annotated[
        Flag, says("--trust-remote-code"), Field(description="run code that comes with the checkpoint")
    ] = False
    tokenizer_path: Annotated[
        Location | None, says("--tokenizer-path"), Field(description="if it is not the model folder")
    ] = None
    chat_template: Annotated[Argument | None, says("--chat-template"), Field(description="name or file")] = None
    tool_call_parser: Annotated[
        Argument | None, says("--tool-call-parser"), Field(description="such as deepseekv4")
    ] = None
    reasoning_parser: Annotated[
        Argument | None, says("--reasoning-parser"), Field(description="such as deepseek-v4")
    ] = None
    quantization: Annotated[
        Argument | None, says("--quantization"), Field(description="overrides what the checkpoint says; best left out")
    ] = None
    dtype: Annotated[
        Argument | None, says("--dtype"), Field(description="type of unquantized weights and activations")
    ] = None
    load_format: Annotated[Argument | None, says("--load-format"), Field(description="how weights are read")] = None
    architecture: Annotated[
        str | None,
        Field(
            description="class in config.json, such as DeepseekV4ForCausalLM; for when the folder is not readable here"
        ),
    ] = None
    facts: Annotated[ModelFacts, Field(description="what the model folder says, for when it is not readable here")] = (
        ModelFacts.model_construct()
    )
