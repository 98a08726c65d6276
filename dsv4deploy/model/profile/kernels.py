"""What runs on the cards: kernels, torch.compile and CUDA graphs."""

from typing import Annotated, Literal

from pydantic import Field

from dsv4deploy.model.profile.section import Count, Env, Flag, Section, Variables, says
from dsv4deploy.model.text import Argument, Line


class Kernels(Section):
    """Which kernels run: backends, environment toggles, patches."""

    attention: Annotated[Argument | None, says("--attention-backend"), Field(description="attention backend")] = None
    prefill_attention: Annotated[
        Argument | None, says("--prefill-attention-backend"), Field(description="for prefill alone")
    ] = None
    decode_attention: Annotated[
        Argument | None, says("--decode-attention-backend"), Field(description="for decode alone")
    ] = None
    moe_runner: Annotated[
        Argument | None, says("--moe-runner-backend"), Field(description="runner of the expert GEMMs")
    ] = None
    moe_a2a: Annotated[
        Argument | None, says("--moe-a2a-backend"), Field(description="all-to-all of expert parallelism")
    ] = None
    fp4_gemm: Annotated[Argument | None, says("--fp4-gemm-backend"), Field(description="dense FP4 GEMM")] = None
    fp8_gemm: Annotated[Argument | None, says("--fp8-gemm-backend"), Field(description="dense FP8 GEMM")] = None
    sampling: Annotated[Argument | None, says("--sampling-backend"), Field(description="sampling kernels")] = None
    custom_all_reduce: Annotated[
        Flag | None, says("--disable-custom-all-reduce", when=False), Field(description="the engine's own all-reduce")
    ] = None
    shared_experts_fusion: Annotated[
        Flag | None,
        says("--disable-shared-experts-fusion", when=False),
        Field(description="shared experts as one more routed expert"),
    ] = None
    flashinfer_autotune: Annotated[
        Flag | None,
        says("--disable-flashinfer-autotune", when=False),
        Field(description="FlashInfer tunes kernels at start"),
    ] = None
    toggles: Annotated[
        Variables, Field(description="environment toggles of kernels, such as SGLANG_SM120_MMA_FLASHMLA")
    ] = {}
    patches: Annotated[
        tuple[Line, ...],
        Field(description="patches to lay over the engine, in order: folders in patches/, or paths from the profile"),
    ] = ()
    in_place: Annotated[
        Flag, Field(description="change the venv itself instead of a copy in the release; other users of it are hit")
    ] = False


class Compile(Section):
    """torch.compile of the whole model, inside decode graph capture."""

    torch_compile: Annotated[
        Flag | None, says("--enable-torch-compile"), Field(description="compile the decode forward")
    ] = None
    max_bs: Annotated[
        Count | None, says("--torch-compile-max-bs"), Field(description="largest batch that is compiled")
    ] = None
    mode: Annotated[
        Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None,
        Env("SGLANG_TORCH_COMPILE_MODE"),
        Field(description="mode of torch.compile"),
    ] = None


class DecodeGraph(Section):
    """CUDA graphs of decode steps."""

    enabled: Annotated[
        Flag | None, Field(description="capture decode graphs; left out: as the engine does by default")
    ] = None
    backend: Annotated[
        Argument | None, says("--cuda-graph-backend-decode"), Field(description="how they are captured")
    ] = None
    max_bs: Annotated[
        Count | None,
        says("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"),
        Field(description="largest captured batch"),
    ] = None
    batch_sizes: Annotated[
        tuple[Count, ...] | None,
        says("--cuda-graph-bs-decode", "--cuda-graph-bs"),
        Field(min_length=1, description="captured batch sizes, instead of the engine's own list"),
    ] = None


class PrefillGraph(Section):
    """CUDA graphs of prefill steps, sized in tokens."""

    enabled: Annotated[
        Flag | None, Field(description="capture prefill graphs; left out: as the engine does by default")
    ] = None
    backend: Annotated[
        Argument | None, says("--cuda-graph-backend-prefill"), Field(description="how they are captured")
    ] = None
    max_bs: Annotated[
        Count | None,
        says("--cuda-graph-max-bs-prefill", "--piecewise-cuda-graph-max-tokens"),
        Field(description="largest captured prefill in tokens"),
    ] = None
    batch_sizes: Annotated[
        tuple[Count, ...] | None,
        says("--cuda-graph-bs-prefill", "--piecewise-cuda-graph-tokens"),
        Field(min_length=1, description="captured prefill sizes in tokens"),
    ] = None


class CudaGraph(Section):
    """CUDA graphs: which phases are captured, up to which batch."""

    decode: Annotated[DecodeGraph, Field(description="decode steps")] = DecodeGraph.model_construct()
    prefill: Annotated[PrefillGraph, Field(description="prefill steps")] = PrefillGraph.model_construct()
    padding: Annotated[
        Flag | None,
        says("--disable-cuda-graph-padding", when=False),
        Field(description="pad a batch to the next captured size"),
    ] = None
