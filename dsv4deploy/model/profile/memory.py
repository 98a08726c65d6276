"""What the memory of the cards is for, and speculative decoding, which takes its share of it."""

from typing import Annotated

from pydantic import Field

from dsv4deploy.model.profile.section import Count, Flag, Fraction, Natural, Section, Tokens, says
from dsv4deploy.model.text import Argument


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
