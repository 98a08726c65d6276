"""What a person writes: the profile, section by section, each field with its meaning and unit.

A field that is exactly one engine flag says so (`Says`), one that is an environment variable likewise (`Env`);
`stages/launch.py` needs no other table to turn a profile into flags.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.model.text import Argument, Digest, Line, Name, Path, Pattern, VariableName, Version


@dataclass(frozen=True, slots=True)
class Says:
    """The field is one engine flag: the newest spelling first, the first that the engine version has is used.

    `when` tells which value of a boolean the flag stands for: `--disable-radix-cache` stands for False.
    """

    flags: tuple[str, ...]
    when: bool = True


def says(*flags: str, when: bool = True) -> Says:
    return Says(flags, when)


@dataclass(frozen=True, slots=True)
class Env:
    """The field is one environment variable; booleans become 1 and 0."""

    name: str


class Section(BaseModel):
    """Frozen; an unknown key is an error.

    Validators are built on first use, and a default is constructed without one: only the whole profile needs its own.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", protected_namespaces=(), str_strip_whitespace=False
    )


Count = Annotated[int, Field(strict=True, ge=1)]
Natural = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Tokens = Annotated[int, Field(strict=True, ge=1)] | Annotated[str, Field(pattern=r"^\d+(\.\d+)?([kMGT]|[KMGT]i)?$")]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535)]
Seconds = Annotated[int, Field(strict=True, ge=1)]
# A variable's value: text, or a whole number as a convenience. A boolean or a float has no one spelling: quote it.
Value = Annotated[int, Field(strict=True)] | Argument
Variables = dict[VariableName, Value]


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


class Container(Section):
    """A container image that holds the engine; it is named by digest, because a tag moves."""

    image: Annotated[
        str,
        Field(pattern=r"^[a-z0-9][a-zA-Z0-9._/:-]*@sha256:[0-9a-f]{64}$", description="repository@sha256:digest"),
    ]
    python: Annotated[str, Field(description="interpreter inside the image", pattern=r"^[\w./-]+$")] = "python3"
    shm_size: Annotated[str, Field(pattern=r"^\d+[kmg]$", description="size of /dev/shm")] = "32g"
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

    path: Annotated[Argument, says("--model-path"), Field(min_length=1, description="folder on the node, absolute")]
    served_name: Annotated[Argument | None, says("--served-model-name"), Field(description="name in the API")] = None
    revision: Annotated[Argument | None, says("--revision"), Field(description="revision of a hub model")] = None
    trust_remote_code: Annotated[
        Flag, says("--trust-remote-code"), Field(description="run code that comes with the checkpoint")
    ] = False
    tokenizer_path: Annotated[
        Argument | None, says("--tokenizer-path"), Field(description="if it is not the model folder")
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
        ModelFacts()
    )


class Hardware(Section):
    """The cards of one node, and which of them are used."""

    arch: Annotated[
        str | None, Field(pattern=r"^sm_\d{2,3}[a-z]?$", description="compute capability, sm_120 for 12.0")
    ] = None
    gpu: Annotated[str | None, Field(description="name of the card as nvidia-smi says it")] = None
    memory_mib: Annotated[Count | None, Field(description="memory of one card in MiB, as nvidia-smi says it")] = None
    count: Annotated[Count | None, Field(description="cards in the node")] = None
    devices: Annotated[
        tuple[Natural | Annotated[str, Field(pattern=r"^(GPU|MIG)-[0-9a-fA-F-]+$")], ...] | None,
        Field(min_length=1, description="cards used: nvidia-smi indices or UUIDs; left out: all"),
    ] = None


class Parallel(Section):
    """How the model is spread over cards and nodes."""

    tp: Annotated[Count | None, says("--tp-size"), Field(description="tensor parallel size")] = None
    pp: Annotated[Count | None, says("--pp-size"), Field(description="pipeline parallel size")] = None
    dp: Annotated[Count | None, says("--dp-size"), Field(description="replicas of the whole model in one server")] = (
        None
    )
    ep: Annotated[Count | None, says("--ep-size"), Field(description="expert parallel size")] = None
    attention_dp: Annotated[
        Count | None, Field(description="data parallel size of attention, inside tp (dp attention)")
    ] = None
    dp_lm_head: Annotated[
        Flag | None, says("--enable-dp-lm-head"), Field(description="vocabulary split over dp attention groups")
    ] = None
    nodes: Annotated[Count | None, says("--nnodes"), Field(description="nodes that share one model")] = None
    node_rank: Annotated[Natural | None, says("--node-rank"), Field(description="rank of this node")] = None
    dist_init_addr: Annotated[
        Argument | None, says("--dist-init-addr"), Field(description="host:port of rank 0, needed with several nodes")
    ] = None


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


class Hicache(Section):
    """A second level of KV cache in host memory."""

    enabled: Annotated[
        Flag | None, says("--enable-hierarchical-cache"), Field(description="keep evicted KV in host memory")
    ] = None
    ratio: Annotated[float | None, says("--hicache-ratio"), Field(gt=0, description="host pool over device pool")] = (
        None
    )
    size_gb: Annotated[
        Natural | None, says("--hicache-size"), Field(description="host pool per rank in GB, instead of a ratio")
    ] = None
    write_policy: Annotated[
        Argument | None, says("--hicache-write-policy"), Field(description="when KV is written to the host")
    ] = None
    io_backend: Annotated[Argument | None, says("--hicache-io-backend"), Field(description="how KV moves")] = None
    mem_layout: Annotated[
        Argument | None, says("--hicache-mem-layout"), Field(description="layout of the host pool")
    ] = None
    storage_backend: Annotated[
        Argument | None, says("--hicache-storage-backend"), Field(description="a third level behind the host")
    ] = None


class Memory(Section):
    """How GPU memory is divided, and what is admitted."""

    fraction_static: Annotated[
        Fraction | None,
        says("--mem-fraction-static"),
        Field(description="share of free GPU memory for weights and KV pool"),
    ] = None
    kv_cache_dtype: Annotated[Argument | None, says("--kv-cache-dtype"), Field(description="type of the KV cache")] = (
        None
    )
    context_length: Annotated[
        Tokens | None, says("--context-length"), Field(description="longest request in tokens")
    ] = None
    chunked_prefill: Annotated[
        Annotated[int, Field(strict=True, ge=-1)] | None,
        says("--chunked-prefill-size"),
        Field(description="tokens of one prefill chunk; -1: not chunked"),
    ] = None
    max_prefill_tokens: Annotated[
        Tokens | None, says("--max-prefill-tokens"), Field(description="tokens of one prefill batch")
    ] = None
    max_running_requests: Annotated[
        Count | None, says("--max-running-requests"), Field(description="requests served at once")
    ] = None
    max_total_tokens: Annotated[
        Tokens | None, says("--max-total-tokens"), Field(description="upper bound of the KV pool in tokens")
    ] = None
    page_size: Annotated[Count | None, says("--page-size"), Field(description="tokens of one KV page")] = None
    swa_full_tokens_ratio: Annotated[
        float | None,
        says("--swa-full-tokens-ratio"),
        Field(gt=0, le=1, description="sliding-window pool over full pool"),
    ] = None
    radix_cache: Annotated[
        Flag | None, says("--disable-radix-cache", when=False), Field(description="reuse the KV of shared prefixes")
    ] = None
    cpu_offload_gb: Annotated[
        Natural | None, says("--cpu-offload-gb"), Field(description="weights kept in host memory, GB a rank")
    ] = None
    hicache: Annotated[Hicache, Field(description="hierarchical cache")] = Hicache.model_construct()


class Speculative(Section):
    """Speculative decoding."""

    algorithm: Annotated[Argument | None, says("--speculative-algorithm"), Field(description="EAGLE, DSPARK, ...")] = (
        None
    )
    num_steps: Annotated[Natural | None, says("--speculative-num-steps"), Field(description="draft steps")] = None
    eagle_topk: Annotated[
        Count | None, says("--speculative-eagle-topk"), Field(description="branches a draft step")
    ] = None
    num_draft_tokens: Annotated[
        Count | None, says("--speculative-num-draft-tokens"), Field(description="tokens verified at once")
    ] = None
    draft_model: Annotated[
        Argument | None, says("--speculative-draft-model-path"), Field(description="folder of the draft model")
    ] = None
    draft_quantization: Annotated[
        Argument | None, says("--speculative-draft-model-quantization"), Field(description="left out: as the target")
    ] = None
    draft_attention: Annotated[
        Argument | None,
        says("--speculative-draft-attention-backend"),
        Field(description="attention backend of the draft"),
    ] = None
    moe_runner: Annotated[
        Argument | None, says("--speculative-moe-runner-backend"), Field(description="runner of draft experts")
    ] = None


class Nccl(Section):
    """NCCL and Gloo: the variables people set, further ones in `env`, or an existing file on the node."""

    env_file: Annotated[Path | None, Field(description="existing file on the node, sourced first and as it is")] = None
    env_file_sha256: Annotated[
        Digest | None, Field(description="digest that the file must have; checked before a start")
    ] = None
    p2p_level: Annotated[
        Literal["LOC", "NVL", "PIX", "PXB", "PHB", "SYS"] | None,
        Env("NCCL_P2P_LEVEL"),
        Field(description="farthest P2P"),
    ] = None
    p2p_disable: Annotated[Flag | None, Env("NCCL_P2P_DISABLE"), Field(description="no P2P at all")] = None
    ib_disable: Annotated[Flag | None, Env("NCCL_IB_DISABLE"), Field(description="no InfiniBand or RoCE")] = None
    ib_hca: Annotated[Argument | None, Env("NCCL_IB_HCA"), Field(description="RDMA devices to use")] = None
    ib_gid_index: Annotated[Natural | None, Env("NCCL_IB_GID_INDEX"), Field(description="RoCE address index")] = None
    net_gdr_level: Annotated[
        Literal["LOC", "PIX", "PXB", "PHB", "SYS"] | None,
        Env("NCCL_NET_GDR_LEVEL"),
        Field(description="farthest GPUDirect RDMA"),
    ] = None
    socket_ifname: Annotated[
        Argument | None, Env("NCCL_SOCKET_IFNAME"), Field(description="interface for bootstrap and sockets")
    ] = None
    gloo_socket_ifname: Annotated[
        Argument | None, Env("GLOO_SOCKET_IFNAME"), Field(description="the same for Gloo")
    ] = None
    min_nchannels: Annotated[Count | None, Env("NCCL_MIN_NCHANNELS"), Field(description="channels at least")] = None
    max_nchannels: Annotated[Count | None, Env("NCCL_MAX_NCHANNELS"), Field(description="channels at most")] = None
    buffsize: Annotated[Count | None, Env("NCCL_BUFFSIZE"), Field(description="bytes of one buffer")] = None
    proto: Annotated[Argument | None, Env("NCCL_PROTO"), Field(description="protocols, such as LL,LL128,Simple")] = None
    algo: Annotated[Argument | None, Env("NCCL_ALGO"), Field(description="algorithms, such as Ring,Tree")] = None
    shm_disable: Annotated[Flag | None, Env("NCCL_SHM_DISABLE"), Field(description="no shared memory transport")] = None
    cumem_enable: Annotated[
        Flag | None, Env("NCCL_CUMEM_ENABLE"), Field(description="cuMem allocation; the engine sets 0 if unset")
    ] = None
    nvls_enable: Annotated[
        Flag | None, Env("NCCL_NVLS_ENABLE"), Field(description="NVLink SHARP; the engine sets 0 if unset")
    ] = None
    graph_register: Annotated[
        Flag | None, Env("NCCL_GRAPH_REGISTER"), Field(description="register buffers of graphs")
    ] = None
    graph_file: Annotated[Path | None, Env("NCCL_GRAPH_FILE"), Field(description="topology graph in XML")] = None
    topo_file: Annotated[Path | None, Env("NCCL_TOPO_FILE"), Field(description="topology in XML")] = None
    debug: Annotated[
        Literal["VERSION", "WARN", "INFO", "TRACE"] | None, Env("NCCL_DEBUG"), Field(description="what NCCL logs")
    ] = None
    env: Annotated[
        dict[Annotated[str, Field(pattern=r"^(NCCL|GLOO)_[A-Z0-9_]+$")], Value],
        Field(description="further NCCL_* and GLOO_* variables"),
    ] = {}

    @model_validator(mode="after")
    def _digest_of_a_file(self) -> Self:
        if self.env_file_sha256 and not self.env_file:
            raise ValueError("`env_file_sha256` needs `env_file`")
        return self


class Server(Section):
    """Where it listens, and who may ask."""

    host: Annotated[Line | None, says("--host"), Field(description="address to listen on; left out: 127.0.0.1")] = None
    port: Annotated[Port, says("--port"), Field(description="HTTP port")] = 30_000
    api_key_file: Annotated[
        Path | None,
        Field(
            description="file on the node (mode 0600) that holds the API key; the key itself never stands in a profile"
        ),
    ] = None
    admin_api_key_file: Annotated[Path | None, Field(description="the same for the admin API key")] = None
    metrics: Annotated[Flag | None, says("--enable-metrics"), Field(description="serve /metrics")] = None
    log_level: Annotated[Argument | None, says("--log-level"), Field(description="of the engine")] = None
    sleep_on_idle: Annotated[Flag | None, says("--sleep-on-idle"), Field(description="do not spin while idle")] = None


class Limits(Section):
    """Limits of the service."""

    memlock: Annotated[
        Count | Literal["infinity"], Field(description="locked memory in bytes; pinned buffers need much")
    ] = "infinity"
    nofile: Annotated[Count, Field(description="open files")] = 1_048_576
    tasks: Annotated[Count | Literal["infinity"], Field(description="threads and processes")] = "infinity"
    core: Annotated[Literal["infinity", 0] | Count, Field(description="bytes of a core dump")] = 0


class Restart(Section):
    """What happens when a confirmed server dies."""

    policy: Annotated[Literal["on-failure", "no", "always"], Field(description="when it is started again")] = (
        "on-failure"
    )
    delay_s: Annotated[Natural, Field(description="seconds before it is started again")] = 15
    burst: Annotated[Count, Field(description="starts within the window before systemd gives up")] = 3
    window_s: Annotated[Seconds, Field(description="seconds of that window")] = 3600


class Timeouts(Section):
    """How long a start and a stop may take, in seconds."""

    start_s: Annotated[
        Seconds, Field(description="until the server must be ready; first starts compile kernels for long")
    ] = 1800
    stop_s: Annotated[
        Seconds, Field(description="until a stop is enforced: the engine drains running requests without a deadline")
    ] = 120


class Log(Section):
    """Where the engine's output goes."""

    target: Annotated[Literal["journal", "file"], Field(description="the journal, or a file on the node")] = "journal"
    path: Annotated[Path | None, Field(description="the file")] = None
    max_mib: Annotated[Count, Field(description="size at which the file is rotated, for the process supervisor")] = 256
    keep: Annotated[Natural, Field(description="rotated files kept")] = 3

    @model_validator(mode="after")
    def _file_has_a_path(self) -> Self:
        if (self.target == "file") != (self.path is not None):
            raise ValueError("`target: file` and `path` belong together")
        return self


class Sandbox(Section):
    """The hardening of the systemd unit, and single directives to leave out."""

    enabled: Annotated[Flag, Field(description="confine the service")] = True
    without: Annotated[tuple[Line, ...], Field(description="directives to leave out, such as ProtectSystem")] = ()
    writable: Annotated[tuple[Path, ...], Field(description="further paths that the engine must write")] = ()
    readable: Annotated[
        tuple[Path, ...], Field(description="further paths under a home directory that the engine reads")
    ] = ()
    devices: Annotated[tuple[Path, ...], Field(description="further devices, such as /dev/infiniband/uverbs0")] = ()


class Service(Section):
    """How the engine is kept running on the node."""

    supervisor: Annotated[
        Literal["systemd", "process"], Field(description="systemd, or a detached process for machines without it")
    ] = "systemd"
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,30}$", description="account that the engine runs as")] = (
        "sglang"
    )
    group: Annotated[str | None, Field(pattern=r"^[a-z_][a-z0-9_-]{0,30}$", description="left out: the user's own")] = (
        None
    )
    groups: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,30}$")], ...],
        Field(description="further groups, such as those that own the GPU devices"),
    ] = ()
    launcher: Annotated[
        tuple[Argument, ...], Field(description="words before the interpreter, such as numactl --cpunodebind=0")
    ] = ()
    limits: Annotated[Limits, Field(description="resource limits")] = Limits.model_construct()
    restart: Annotated[Restart, Field(description="restarts after a failure")] = Restart.model_construct()
    timeouts: Annotated[Timeouts, Field(description="start and stop")] = Timeouts.model_construct()
    log: Annotated[Log, Field(description="output")] = Log.model_construct()
    sandbox: Annotated[Sandbox, Field(description="hardening")] = Sandbox.model_construct()
    cache: Annotated[
        Path | None,
        Field(
            description="parent folder of kernel caches; left out: /var/cache/dsv4deploy, or the user's cache folder"
        ),
    ] = None


class Smoke(Section):
    """What a completion must be like; garbage (repetition, no variety, broken characters) is always a failure."""

    prompt: Annotated[Line | None, Field(description="prompt of the short request; left out: our own")] = None
    contains: Annotated[
        tuple[Line, ...], Field(description="texts that the answer to the short request must hold, such as Paris")
    ] = ()
    recall: Annotated[
        Flag, Field(description="the answer to the long request must hold the word that its beginning told")
    ] = False
    script: Annotated[
        Literal["latin", "han", "cyrillic", "any"], Field(description="script of most letters of an answer")
    ] = "any"
    max_tokens: Annotated[Count, Field(description="tokens of each answer")] = 48


class LogLines(Section):
    """Lines of the log of this start: Python regular expressions, searched in each line."""

    expect: Annotated[
        tuple[Pattern, ...], Field(description="each must be there, such as `sparse MLA kernel: tensor cores`")
    ] = ()
    forbid: Annotated[
        tuple[Pattern, ...], Field(description="none may be there, such as `Using default MoE config`")
    ] = ()


class Bounds(Section):
    """What a metric may be; the largest of its series counts."""

    above: Annotated[float | int | None, Field(description="it must be at least this")] = None
    below: Annotated[float | int | None, Field(description="it must be at most this")] = None


class Health(Section):
    """What the server is expected to hold, and what `dsv4deploy health` asks of it."""

    longest_prompt: Annotated[Count | None, Field(description="tokens of the longest prompt that must be served")] = (
        None
    )
    concurrency: Annotated[Count | None, Field(description="requests that must be served at once")] = None
    capacity: Annotated[
        Flag,
        Field(description="rehearse it in `dsv4deploy health`: the longest prompt, as often at once as must be served"),
    ] = False
    gate: Annotated[
        Flag,
        Field(description="a start counts as ready only if its completions, its settings and its capacity are fine"),
    ] = False
    timeout_s: Annotated[
        Seconds,
        Field(
            description="seconds for one answer; longer than the longest prefill, because a server that computes is not dead"
        ),
    ] = 300
    endpoints: Annotated[
        tuple[Annotated[str, Field(pattern=r"^/[^\s]*$")], ...],
        Field(description="paths that must answer 200, beside health"),
    ] = ("/v1/models",)
    smoke: Annotated[Smoke, Field(description="completions")] = Smoke.model_construct()
    log: Annotated[LogLines, Field(description="lines of the log")] = LogLines.model_construct()
    metrics: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")], Bounds],
        Field(description="bounds by the name of the metric, with or without `sglang:`"),
    ] = {}


class Waiver(Section):
    """One rule that is allowed here, with the reason and an end."""

    rule: Annotated[Line, Field(description="id of the rule")]
    reason: Annotated[Line, Field(description="why it is allowed here")]
    until: Annotated[
        str | None,
        Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description='last day on which it holds, quoted: "2027-01-31"'),
    ] = None


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
        dict[Annotated[str, Field(pattern=r"^(--)?[A-Za-z0-9][A-Za-z0-9_-]*$")], Any],
        Field(
            description="any further engine flag by its own name, `sleep-on-idle: true`; checked against the flag catalogue"
        ),
    ] = {}
    service: Annotated[Service, Field(description="supervision on the node")] = Service.model_construct()
    health: Annotated[Health, Field(description="what it must hold")] = Health.model_construct()
    waivers: Annotated[tuple[Waiver, ...], Field(description="rules allowed here")] = ()
