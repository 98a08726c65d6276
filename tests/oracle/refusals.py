"""Launches put together by chance, and what of them our catalogue calls an error."""

import random
from functools import cache
from typing import NamedTuple

import house
from real_resolver import CARDS, MEMORY_MIB, RELEASES, knows

from dsv4deploy.flow import Asked, looked_at_script
from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.rule import Severity

MODELS: tuple[tuple[str, dict[str, str]], ...] = (
    ("llama", {}),
    ("mistral", {"quant_method": "awq"}),
    ("qwen3", {}),
    ("gemma3", {}),
    ("qwen3_moe", {"quant_method": "fp8"}),
    ("qwen3_moe", {"quant_method": "modelopt_fp4"}),
    ("qwen3_next", {"quant_method": "fp8"}),
    ("qwen3_5_moe", {"quant_method": "modelopt_fp4"}),
    ("gpt_oss", {"quant_method": "mxfp4"}),
    ("minimax_m2", {"quant_method": "fp8"}),
    ("glm4_moe", {"quant_method": "fp8"}),
    ("deepseek_v3", {"quant_method": "fp8"}),
    ("deepseek_v3", {"quant_method": "w4afp8"}),
    ("kimi_k25", {"quant_method": "compressed-tensors"}),
    ("deepseek_v32", {"quant_method": "fp8"}),
    ("glm_moe_dsa", {"quant_method": "modelopt_fp4"}),
    ("deepseek_v4", {"quant_method": "fp8", "experts_dtype": "mxfp4"}),
)
# Eight heads a card at tp 16, and a context that no option below asks for: shapes that refuse nothing by themselves.
SHAPE = {"num_attention_heads": 128, "num_key_value_heads": 8, "max_position_embeddings": 131072}
_DRAFTS = "--speculative-num-steps 3 --speculative-eagle-topk {} --speculative-num-draft-tokens {}"
_NODES = "--nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"
# One line a subject: what people write about it.
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--tp-size 4", "--tp-size 8", f"--tp-size 16 {_NODES}", "--pp-size 2", "--tp-size 4 --pp-size 2"),
    ("--dp-size 4 --tp-size 4", "--dp-size 8 --tp-size 8 --enable-dp-attention", "--dp-size 2 --tp-size 8 --enable-dp-attention"),
    ("--ep-size 4 --tp-size 4", "--ep-size 2 --tp-size 8", "--moe-dense-tp-size 1 --tp-size 8", "--moe-dp-size 2 --tp-size 8"),
    ("--moe-a2a-backend deepep --tp-size 8", "--moe-a2a-backend mooncake --tp-size 8"),
    ("--moe-runner-backend triton", "--moe-runner-backend flashinfer_trtllm", "--moe-runner-backend flashinfer_cutlass",
     "--moe-runner-backend flashinfer_mxfp4", "--moe-runner-backend deep_gemm", "--moe-runner-backend cutlass"),
    ("--attention-backend triton", "--attention-backend fa3", "--attention-backend fa4", "--attention-backend flashinfer",
     "--attention-backend trtllm_mla", "--attention-backend trtllm_mha", "--attention-backend cutlass_mla",
     "--attention-backend flashmla", "--attention-backend torch_native", "--decode-attention-backend trtllm_mha",
     "--prefill-attention-backend fa3 --decode-attention-backend flashinfer"),
    ("--page-size 1", "--page-size 16", "--page-size 64", "--page-size 128"),
    ("--kv-cache-dtype fp8_e4m3", "--kv-cache-dtype fp8_e5m2", "--kv-cache-dtype bfloat16", "--kv-cache-dtype fp4_e2m1"),
    (f"--speculative-algorithm EAGLE {_DRAFTS.format(1, 4)}", f"--speculative-algorithm EAGLE {_DRAFTS.format(4, 16)}",
     f"--speculative-algorithm EAGLE3 --speculative-draft-model-path /d {_DRAFTS.format(1, 4)}",
     "--speculative-algorithm NEXTN", "--speculative-algorithm EAGLE3", "--speculative-algorithm NGRAM",
     "--speculative-algorithm STANDALONE --speculative-draft-model-path /d", "--speculative-algorithm EAGLE --speculative-num-steps 3"),
    ("--disable-radix-cache", "--enable-hierarchical-cache --hicache-ratio 2",
     "--enable-hierarchical-cache --hicache-storage-backend file", "--hicache-storage-backend mooncake",
     "--enable-hierarchical-cache --hicache-io-backend direct --hicache-mem-layout layer_first"),
    ("--lora-paths a=/a", "--enable-lora --max-lora-rank 64", "--lora-paths a=/a b=/b --max-loras-per-batch 1"),
    ("--disable-cuda-graph", "--cuda-graph-max-bs 64", "--enable-torch-compile", "--enable-two-batch-overlap",
     "--disable-overlap-schedule", "--enable-mixed-chunk", "--enable-deterministic-inference", "--enable-dp-lm-head"),
    ("--enable-eplb", "--ep-num-redundant-experts 8", "--ep-dispatch-algorithm static"),
    ("--chunked-prefill-size -1", "--chunked-prefill-size 4096", "--max-running-requests 16", "--mem-fraction-static 0.9"),
    ("--schedule-policy lpm", "--schedule-policy priority", "--enable-priority-scheduling"),
    ("--disaggregation-mode prefill", "--disaggregation-mode decode", "--disaggregation-mode decode --disable-radix-cache",
     "--disaggregation-mode decode --disaggregation-decode-enable-offload-kvcache", "--disaggregation-mode prefill --pp-size 2"),
    ("--dtype float16", "--skip-tokenizer-init", "--is-embedding", "--enable-symm-mem", "--enable-flashinfer-allreduce-fusion"),
    ("--attn-cp-size 2 --tp-size 8", "--mamba-scheduler-strategy extra_buffer", "--swa-full-tokens-ratio 0.2"),
)  # fmt: skip


class Launch(NamedTuple):
    """One command line on one card with one model, under one release."""

    version: str
    sm: int
    kind: str
    model: dict[str, str]
    line: str


def launches(count: int, seed: int) -> list[Launch]:
    """As many, the same each time."""
    chance = random.Random(seed)  # noqa: S311 (a choice of tests)
    found: list[Launch] = []
    while len(found) < count:
        version, sm, (kind, model) = chance.choice(RELEASES), chance.choice(CARDS), chance.choice(MODELS)
        subjects = chance.sample(OPTIONS, chance.choice((1, 1, 2, 2, 2, 3, 3, 4)))
        if knows(version, kind):
            found.append(Launch(version, sm, kind, model, " ".join(chance.choice(options) for options in subjects)))
    return found


@cache
def of_the_resolver() -> frozenset[str]:
    """The rules that say that a release's resolver, executed, refuses."""
    return frozenset(
        rule.id
        for rule in house.knowledge().rules
        if rule.severity is Severity.REFUSED and any("resolver executed" in source.ref for source in rule.evidence)
    )


def errors(version: str, sm: int, kind: str, model: dict[str, str], line: str) -> list[str]:
    """What is an error of the launch, by rule or class."""
    facts = Facts.model_validate(
        {
            "arch": f"sm_{sm}",
            "engine_version": version,
            "gpu_memory_mib": MEMORY_MIB,
            "gpu_count": 16,
            "model": {"model_type": kind, **SHAPE, **model},
        }
    )
    texts = house.Written({"serve.sh": f"python -m sglang.launch_server --model-path /m {line}\n"})
    seen = looked_at_script(texts, house.knowledge(), Asked("serve.sh", facts=facts))
    return [one.rule for one in seen.report.diagnostics if one.level is Level.ERROR]
