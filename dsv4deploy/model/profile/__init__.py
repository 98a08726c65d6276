"""What a person writes: the profile, section by section, each field with its meaning and unit.

A field that is exactly one engine flag says so (`Says`), one that is an environment variable likewise (`Env`);
`stages/launch.py` needs no other table to turn a profile into flags.
"""

from typing import Annotated, Any

from pydantic import Field

from dsv4deploy.model.profile.engine import Engine, Model
from dsv4deploy.model.profile.health import Health, Waiver
from dsv4deploy.model.profile.kernels import Compile, CudaGraph, Kernels
from dsv4deploy.model.profile.machine import Hardware, Nccl, Parallel
from dsv4deploy.model.profile.memory import Memory, Speculative
from dsv4deploy.model.profile.section import Section, Variables
from dsv4deploy.model.profile.service import Server, Service
from dsv4deploy.model.shapes import FLAG
from dsv4deploy.model.text import Name


class Profile(Section):
    """One SGLang server: what is to run, where, and how it is kept running."""

    name: Annotated[Name, Field(description="name of the server: of its unit, bundle and folders")]
    engine: Annotated[Engine, Field(description="engine release and installation")]
    model: Annotated[Model, Field(description="checkpoint")]
    hardware: Annotated[Hardware, Field(description="cards")] = Hardware.model_construct()
    parallel: Annotated[Parallel, Field(description="parallelism")] = Parallel.model_construct()
    kernels: Annotated[Kernels, Field(description="kernel backends, toggles, patches")] = Kernels.model_construct()
    compile: Annotated[Compile, Field(description="torch.compile")] = Compile.model_construct()
    cuda_graph: Annotated[CudaGraph, Field(description="CUDA graphs")] = CudaGraph.model_construct()
    memory: Annotated[Memory, Field(description="GPU memory")] = Memory.model_construct()
    speculative: Annotated[Speculative, Field(description="speculative decoding")] = Speculative.model_construct()
    nccl: Annotated[Nccl, Field(description="collectives")] = Nccl.model_construct()
    env: Annotated[Variables, Field(description="further environment variables")] = {}
    server: Annotated[Server, Field(description="endpoint")] = Server.model_construct()
    args: Annotated[
        dict[Annotated[str, Field(pattern=FLAG)], Any],
        Field(
            description="any further engine flag by its own name, `sleep-on-idle: true`; checked against the flag catalogue"
        ),
    ] = {}
    service: Annotated[Service, Field(description="supervision on the node")] = Service.model_construct()
    health: Annotated[Health, Field(description="what it must hold")] = Health.model_construct()
    waivers: Annotated[tuple[Waiver, ...], Field(description="rules allowed here")] = ()
