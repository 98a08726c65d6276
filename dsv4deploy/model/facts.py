"""Typed answers about a node, its engine and its model; a missing key is unknown, never false.

The keys are the subjects `fact:KEY` of rules, model keys with the prefix `model.`. Sources: a facts document
(`--facts`), the profile's `hardware` and `model`, a model folder, or the node itself.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = str | None
Whole = Annotated[int | None, Field(ge=0)]


class Frozen(BaseModel):
    """Base of values that come from outside: frozen; keys that nobody knows are refused."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", protected_namespaces=())


class ModelFacts(Frozen):
    """What the model folder says; sizes in bytes."""

    model_type: Text = None
    architectures: tuple[str, ...] | None = None
    num_attention_heads: Whole = None
    num_key_value_heads: Whole = None
    num_hidden_layers: Whole = None
    hidden_size: Whole = None
    head_dim: Whole = None
    vocab_size: Whole = None
    n_routed_experts: Whole = None
    moe_intermediate_size: Whole = None
    intermediate_size: Whole = None
    qk_rope_head_dim: Whole = None
    max_position_embeddings: Whole = None
    quant_method: Text = None
    quant_algo: Text = None
    moe_quant_algo: Text = None
    experts_dtype: Text = None
    shared_experts_dtype: Text = None
    weight_block_size: tuple[int, ...] | None = None
    weight_group_size: Whole = Field(None, description="inputs that share a scale, of AWQ and GPTQ weights")
    weight_bytes: Whole = None
    tensor_dtypes: tuple[str, ...] | None = None
    has_scale_tensors: bool | None = None
    has_mtp: bool | None = None
    bundled_draft: Text = Field(None, description="its kind, `dspark`")
    vision_num_heads: Whole = Field(None, description="attention heads of the vision tower")
    mtp_moe_intermediate_size: Whole = Field(None, description="of the experts of the draft module")
    mtp_weight_block_size: tuple[int, ...] | None = Field(None, description="of the experts of the draft module")
    index_complete: bool | None = None
    missing_shards: tuple[str, ...] | None = None
    truncated_shards: tuple[str, ...] | None = None
    lfs_pointers: tuple[str, ...] | None = None


class Facts(Frozen):
    """One document of facts; memory in MiB (`_mib`) or GiB (`_gib`), versions as they are written."""

    arch: Text = Field(None, description="compute capability, `sm_120`")
    gpu_name: Text = None
    gpu_count: Whole = Field(None, description="on this node")
    gpu_count_total: Whole = None
    gpu_memory_mib: Whole = None
    gpu_memory_used_mib: tuple[int, ...] | None = None
    gpu_busy: bool | None = None
    unified_memory: bool | None = None
    nnodes: Whole = None
    driver: Text = None
    driver_cuda: Text = None
    driver_params: Text = None
    vbios: Text = None
    cuda: Text = None
    cuda_toolkit: Text = None
    cuda_compat_in_ld_path: bool | None = Field(
        None, description="the loader finds CUDA's forward-compatibility libcuda before the driver's"
    )
    nvcc: Text = None
    nvrtc_headers: bool | None = None
    ptxas_knows_arch: bool | None = None
    engine_version: Text = None
    engine_build: Text = Field(None, description="image, fork or commit")
    engine_patched: bool | None = None
    torch: Text = None
    triton: Text = None
    flashinfer: Text = None
    flashinfer_cubin: Text = None
    sgl_kernel: Text = None
    sgl_kernel_has_arch: bool | None = None
    flashinfer_has_arch: bool | None = None
    deep_gemm: Text = None
    deep_gemm_has_arch: bool | None = None
    nccl: Text = None
    mooncake: Text = None
    topology: Text = Field(None, description="in the words of `nvidia-smi topo`")
    pcie_switches: Whole = None
    pcie_root_complexes: Whole = None
    numa_nodes: Whole = None
    p2p: Text = None
    iommu: Text = None
    acs_redirect: bool | None = None
    acs_redirect_root_ports: bool | None = None
    acs_redirect_switch_downstream: bool | None = None
    rdma: bool | None = None
    rdma_devices: tuple[str, ...] | None = None
    nics: tuple[str, ...] | None = None
    cpu: Text = None
    host_ram_gib: float | None = None
    host_ram_available_gib: float | None = None
    shm_gib: float | None = None
    memlock: Text = None
    nofile: Whole = None
    ports_in_use: tuple[int, ...] | None = None
    paths_missing: tuple[str, ...] | None = None
    model: ModelFacts = ModelFacts.model_construct()

    def get(self, key: str) -> object | None:
        """The value under `key` (`arch`, `model.num_attention_heads`); None if it is not known.

        Raises:
            KeyError: no fact has this name.
        """
        owner: BaseModel = self
        if key.startswith("model."):
            owner, key = self.model, key.removeprefix("model.")
        if key not in type(owner).model_fields:
            raise KeyError(key)
        value: object | None = getattr(owner, key)
        return value
