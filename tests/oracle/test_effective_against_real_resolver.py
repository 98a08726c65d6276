"""Effective settings hold against the real resolver of one release of each definition era, on a pretended card."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_parser import wheel

from dsv4deploy.flags import history
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.source.argv import parse
from dsv4deploy.stages.effective import effective

pytestmark = pytest.mark.oracle
SERVER = Path(__file__).with_name("resolve_server.py")
RELEASES = ("0.5.9", "0.5.13.post1", "0.5.17", "0.5.20", "0.5.23")
MEMORY_MIB = 97887
# Ours -> what the resolver calls it, newest name first.
NAMES = {
    "attention_backend": ("attention_backend",),
    "moe_runner_backend": ("moe_runner_backend",),
    "page_size": ("page_size",),
    "kv_cache_dtype": ("kv_cache_dtype",),
    "chunked_prefill_size": ("chunked_prefill_size",),
    "max_running_requests": ("max_running_requests",),
    "ep_size": ("ep_size",),
    "dsa_prefill_backend": ("dsa_prefill_backend", "nsa_prefill_backend"),
    "dsa_decode_backend": ("dsa_decode_backend", "nsa_decode_backend"),
    "speculative_num_draft_tokens": ("speculative_num_draft_tokens",),
}
HYBRID = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"}
MXFP4 = {"quant_method": "fp8", "experts_dtype": "mxfp4"}
# Model type, its facts, and the arguments.
QUESTIONS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("llama", {}, ""),
    ("llama", {}, "--tp-size 8 --disable-cuda-graph"),
    ("llama", {}, "--tp-size 8 --dp-size 8 --enable-dp-attention --chunked-prefill-size 16384"),
    ("glm4_moe", {"quant_method": "modelopt_fp4"}, "--tp-size 8 --quantization modelopt_fp4"),
    ("glm4_moe", {"quant_method": "fp8"}, "--tp-size 8 --moe-a2a-backend deepep"),
    ("deepseek_v3", {"quant_method": "fp8"}, "--tp-size 8"),
    ("kimi_k25", {"quant_method": "compressed-tensors"}, "--tp-size 8"),
    ("glm_moe_dsa", {"quant_method": "modelopt_fp4"}, "--tp-size 8 --quantization modelopt_fp4"),
    ("glm_moe_dsa", {"quant_method": "fp8"}, "--tp-size 8 --kv-cache-dtype bfloat16"),
    ("deepseek_v4", MXFP4, "--tp-size 4"),
    ("deepseek_v4", MXFP4, "--tp-size 4 --attention-backend triton --page-size 64 --max-running-requests 16"),
    ("deepseek_v4", HYBRID, "--tp-size 8"),
)
CARDS = (90, 100, 120)
# DeepSeek-V4 came with 0.5.12; what an older release makes of it is nothing to compare with.
FIRST = {"deepseek_v4": "0.5.13.post1"}


class Resolver:
    """The resolver of one release in a process of its own."""

    def __init__(self, version: str) -> None:
        command = [sys.executable, str(SERVER), str(wheel(version))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module", params=RELEASES)
def resolver(request: pytest.FixtureRequest) -> Iterator[tuple[str, Resolver]]:
    one = Resolver(request.param)
    yield request.param, one
    one.close()


def ours(version: str, sm: int, kind: str, model: dict[str, str], words: list[str]) -> dict[str, Any]:
    catalogue = history().at(version)
    given = parse(["--model-path", "/m", *words], catalogue).given
    settings = {dest: Setting(dest, one.value, one.flag.name) for dest, one in given.items()}
    facts = Facts.model_validate(
        {"arch": f"sm_{sm}", "gpu_memory_mib": MEMORY_MIB, "model": {"model_type": kind, **model}}
    )
    outcomes = effective(Launch(version, settings), catalogue, facts).settings
    return {dest: None if one.needs else one.value for dest, one in outcomes.items()}


def theirs(answer: dict[str, Any]) -> dict[str, Any]:
    values = answer["values"]
    found = {dest: next((values[n] for n in names if values.get(n) is not None), None) for dest, names in NAMES.items()}
    if found["attention_backend"] == "nsa":
        found["attention_backend"] = "dsa"
    if graphs := values.get("cuda_graph_config"):
        found["cuda_graph_backend_decode"], found["cuda_graph_max_bs_decode"] = graphs["decode"]
        found["cuda_graph_backend_prefill"] = graphs["prefill"][0]
    else:
        found["cuda_graph_backend_decode"] = "disabled" if values["disable_cuda_graph"] else "full"
        found["cuda_graph_max_bs_decode"] = values["cuda_graph_max_bs"]
    return found


def differs(dest: str, own: Any, real: Any) -> bool:
    if dest == "moe_runner_backend" and real == "auto":
        return False  # decided when the layer is built, after the resolver; ours goes on to that
    if dest == "chunked_prefill_size" or own is not None:
        return bool(own != real)
    return False  # an answer we do not give is no wrong one


@pytest.mark.parametrize("sm", CARDS)
@pytest.mark.parametrize(("kind", "model", "line"), QUESTIONS, ids=[f"{kind} {line}" for kind, _, line in QUESTIONS])
def test_ours_is_what_the_resolver_says(
    resolver: tuple[str, Resolver], sm: int, kind: str, model: dict[str, str], line: str
) -> None:
    version, real = resolver
    if RELEASES.index(version) < RELEASES.index(FIRST.get(kind, RELEASES[0])):
        pytest.skip(f"{version} does not know {kind}")
    asked = [name for names in NAMES.values() for name in names]
    answer = real.ask(
        words=line.split(),
        sm=sm,
        memory_mib=MEMORY_MIB,
        model_type=kind,
        quant_method=model.get("quant_method"),
        hybrid=model.get("moe_quant_algo") == "NVFP4",
        names=[*asked, "cuda_graph_config", "disable_cuda_graph", "cuda_graph_max_bs"],
    )
    if "refused" in answer:
        pytest.skip(answer["refused"][:200])
    own, said = ours(version, sm, kind, model, line.split()), theirs(answer)
    wrong = {d: (own.get(d), said[d]) for d in said if said[d] is not None and differs(d, own.get(d), said[d])}
    assert wrong == {}
