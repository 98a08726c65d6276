"""The cards of a node, how a model is spread over them, and how they talk to one another."""

import math
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dsv4deploy.model.profile.section import Count, Env, Flag, Natural, Section, Value, says
from dsv4deploy.model.shapes import ARCH, CARD, NCCL
from dsv4deploy.model.text import Argument, Digest, Path, unfit

Card = Natural | Annotated[str, Field(pattern=CARD)]


def _each_once(cards: tuple[Card, ...]) -> tuple[Card, ...]:
    twice = next((card for card in cards if cards.count(card) > 1), None)
    if twice is not None:
        raise unfit(f"card {twice} is listed twice", "list each card once")
    return cards


class Hardware(Section):
    """The cards of one node, and which of them are used."""

    arch: Annotated[str | None, Field(pattern=ARCH, description="compute capability, sm_120 for 12.0")] = None
    gpu: Annotated[str | None, Field(description="name of the card as nvidia-smi says it")] = None
    memory_mib: Annotated[Count | None, Field(description="memory of one card in MiB, as nvidia-smi says it")] = None
    count: Annotated[Count | None, Field(description="cards in the node")] = None
    devices: Annotated[
        Annotated[tuple[Card, ...], Field(min_length=1), AfterValidator(_each_once)] | None,
        Field(description="cards used: nvidia-smi indices or UUIDs; left out: all"),
    ] = None

    @model_validator(mode="after")
    def _cards_are_there(self) -> Self:
        count = self.count or math.inf
        beyond = [card for card in self.devices or () if isinstance(card, int) and card >= count]
        if beyond:
            raise unfit(f"there is no card {beyond[0]} among {self.count}", "cards are counted from 0")
        return self


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
        dict[Annotated[str, Field(pattern=NCCL)], Value],
        Field(description="further NCCL_* and GLOO_* variables"),
    ] = {}

    @model_validator(mode="after")
    def _digest_of_a_file(self) -> Self:
        if self.env_file_sha256 and not self.env_file:
            raise ValueError("`env_file_sha256` needs `env_file`")
        return self
