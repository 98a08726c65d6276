"""Bytes a token and fixed states, against figures of public logs and of the engine's own arithmetic."""

from collections.abc import Mapping

import pytest

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.memory import GIB, MIB, Interval, exactly
from dsv4deploy.stages.memory.known import GLM_5, V3, V4_FLASH, V4_PRO, V32, V41_FLASH
from dsv4deploy.stages.memory.launched import read_launch
from dsv4deploy.stages.memory.pools import Pool, pool_of, state_bytes
from dsv4deploy.stages.memory.shape import MissingError

SPECULATION = {"speculative_algorithm": "EAGLE"}
MINIMAX = Geometry(attention="gqa", layers=62, kv_heads=8, head_dim=128)
QWEN35 = Geometry(
    attention="gqa",
    layers=60,
    kv_heads=2,
    head_dim=256,
    linear_layers=45,
    linear_key_heads=16,
    linear_value_heads=64,
    linear_key_dim=128,
    linear_value_dim=128,
    linear_conv=4,
)


def pool(shape: Geometry, version: str | None, settings: Mapping[str, object] | None = None, **more: object) -> Pool:
    return pool_of(shape, read_launch(version, {**(settings or {}), **more}, Facts(), shape))


@pytest.mark.parametrize(
    ("shape", "version", "plain", "speculative"),
    [
        (V4_FLASH, "0.5.12", 15955.85, 26071.2),
        (V4_FLASH, "0.5.13.post1", 15897.45, 26024.9),
        (V4_FLASH, "0.5.14", 15897.45, 26024.9),
        (V4_FLASH, "0.5.15", 7705.45, 9259.9),
        (V4_FLASH, "0.5.20", 7705.45, 9259.9),
        (V4_FLASH, "0.5.21", 7086.75, 7939.2),
        (V4_FLASH, "0.5.23", 7086.75, 7939.2),
        (V4_PRO, "0.5.12", 23749.8, 38986.3),
        (V4_PRO, "0.5.13", 23691.4, 38937.0),
        (V4_PRO, "0.5.16", 10993.8, 13125.5),
        (V4_PRO, "0.5.22", 10115.3, 11256.8),
    ],
)
def test_bytes_per_token_of_deepseek_v4_by_release(
    shape: Geometry, version: str, plain: float, speculative: float
) -> None:
    assert pool(shape, version).per_token.likely == pytest.approx(plain, abs=0.1)
    assert pool(shape, version, SPECULATION).per_token.likely == pytest.approx(speculative, abs=0.1)


@pytest.mark.parametrize(("version", "expected"), [("0.5.13", 32781.44), ("0.5.15.post1", 13735.04)])
def test_another_window_ratio_of_deepseek_v4(version: str, expected: float) -> None:
    assert pool(V4_PRO, version, swa_full_tokens_ratio=0.15).per_token.likely == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("shape", "requests", "plain", "speculative"),
    [(V4_FLASH, 4, 0.07, 0.13), (V4_FLASH, 48, 0.50, 0.99), (V4_FLASH, None, 2.53, 5.05), (V4_PRO, None, 3.92, 7.83)],
)
def test_states_of_requests_of_deepseek_v4(
    shape: Geometry, requests: int | None, plain: float, speculative: float
) -> None:
    asked: dict[str, object] = {} if requests is None else {"max_running_requests": requests}
    assert pool(shape, "0.5.16", asked).fixed.likely / GIB == pytest.approx(plain, abs=0.01)
    assert pool(shape, "0.5.16", {**asked, **SPECULATION}).fixed.likely / GIB == pytest.approx(speculative, abs=0.01)
    assert pool(shape, "0.5.14", asked).fixed == exactly(0)


def test_requests_are_shared_out_under_attention_data_parallelism() -> None:
    alone = pool(V4_FLASH, "0.5.16", tp_size=8, max_running_requests=8)
    shared = pool(V4_FLASH, "0.5.16", tp_size=8, max_running_requests=64, attn_dp_size=8)
    assert shared.fixed == alone.fixed


def test_an_unknown_version_may_have_any_layout() -> None:
    unknown = pool(V4_FLASH, None).per_token
    assert (round(unknown.low), round(unknown.high)) == (7087, 15956)


def test_deepseek_v41_sizes_windows_for_its_requests_unless_a_ratio_is_given() -> None:
    few, many = (
        pool(V41_FLASH, "0.5.23", max_running_requests=requests, chunked_prefill_size=2048) for requests in (4, 48)
    )
    assert few.per_token == many.per_token == exactly(1632.5)
    # Logged: 0.34 GiB for 4 requests and chunks of 2048 with six draft tokens.
    drafting = {"speculative_algorithm": "DSPARK", "speculative_num_draft_tokens": 6}
    windows = pool(V41_FLASH, "0.5.23", drafting, max_running_requests=4, chunked_prefill_size=2048)
    assert windows.fixed.likely / GIB == pytest.approx(0.343, abs=0.005)
    given = pool(V41_FLASH, "0.5.23", max_running_requests=48, swa_full_tokens_ratio=0.1)
    assert given.per_token == exactly(3972.5)
    assert given.fixed.likely < many.fixed.likely / 1000


@pytest.mark.parametrize("tp", [1, 2, 8])
def test_tp_does_not_divide_a_latent_cache(tp: int) -> None:
    assert pool(V4_FLASH, "0.5.21", tp_size=tp).per_token == pool(V4_FLASH, "0.5.21").per_token
    assert pool(V3, "0.5.21", tp_size=tp).per_token == pool(V3, "0.5.21").per_token


@pytest.mark.parametrize(
    ("shape", "settings", "low", "high"),
    [
        (V3, {}, 70272, 70272),
        (V3, {"kv_cache_dtype": "fp8_e4m3"}, 35136, 35136),
        (V32, {}, 78324, 78324),
        (V32, {"kv_cache_dtype": "fp8_e4m3"}, 43188, 48068),
        (GLM_5, {}, 100152, 100152),
        (GLM_5, {"kv_cache_dtype": "fp8_e4m3", "dsa_decode_backend": "trtllm"}, 55224, 55224),
        (
            GLM_5,
            {
                "kv_cache_dtype": "fp8_e4m3",
                "dsa_prefill_backend": "flashmla_sparse",
                "dsa_decode_backend": "flashmla_kv",
            },
            61464,
            61464,
        ),
        (V3, {"pp_size": 2}, 35712, 35712),
        (V3, SPECULATION, 71424, 71424),
    ],
)
def test_bytes_per_token_of_mla(shape: Geometry, settings: dict[str, object], low: int, high: int) -> None:
    assert (pool(shape, "0.5.20", settings).per_token.low, pool(shape, "0.5.20", settings).per_token.high) == (
        low,
        high,
    )


@pytest.mark.parametrize(("tp", "expected"), [(1, 253952), (2, 126976), (4, 63488), (8, 31744), (16, 31744)])
def test_bytes_per_token_of_gqa_stop_falling_at_one_head(tp: int, expected: int) -> None:
    assert pool(MINIMAX, "0.5.20", tp_size=tp).per_token == exactly(expected)


def test_windowed_layers_keep_a_share_of_the_tokens() -> None:
    windowed = MINIMAX.model_copy(update={"window_layers": 31, "window": 128})
    assert pool(windowed, "0.5.20").per_token == exactly(4096 * (31 + 0.8 * 31))
    assert pool(windowed, "0.5.20", swa_full_tokens_ratio=0.5).per_token == exactly(4096 * (31 + 0.5 * 31))


def test_windowed_layers_of_a_class_without_a_window_pool_pay_in_full() -> None:
    windowed = MINIMAX.model_copy(update={"window_layers": 31, "window": 128})
    launch = read_launch("0.5.23", {}, Facts(), windowed)
    assert pool_of(windowed, launch, ("Gemma3ForCausalLM",)).per_token == exactly(4096 * 62)
    assert pool_of(windowed, launch, ("GptOssForCausalLM",)).per_token == exactly(4096 * (31 + 0.8 * 31))


@pytest.mark.parametrize(("tp", "mib"), [(2, 91.6), (4, 45.8), (8, 22.9)])
def test_recurrent_states_of_a_hybrid_model(tp: int, mib: float) -> None:
    launch = read_launch("0.5.20", {"tp_size": tp}, Facts(), QWEN35)
    assert state_bytes(QWEN35, launch) / MIB == pytest.approx(mib, abs=0.05)
    assert pool(QWEN35, "0.5.20", tp_size=tp).per_token == exactly(15360)


def test_states_take_their_share_of_the_pool_or_a_given_number() -> None:
    assert pool(QWEN35, "0.5.20").share == pytest.approx(1 / 1.9)
    given = pool(QWEN35, "0.5.20", tp_size=2, max_mamba_cache_size=82)
    assert (given.share, round(given.fixed.likely / GIB, 2)) == (1.0, 7.42)
    assert pool(QWEN35, "0.5.20", tp_size=2, disable_radix_cache=True, max_running_requests=82).fixed == given.fixed


def test_tokens_are_whole_pages_never_negative_and_never_more_than_allowed() -> None:
    held = Pool(exactly(100), exactly(10), "", pool(V3, None).sure)
    assert held.tokens(Interval(-5, 1000, 5000), 16, 400) == Interval(0, 80, 400)


def test_a_shape_that_does_not_say_enough_names_what_is_missing() -> None:
    with pytest.raises(MissingError, match="kv_heads"):
        pool(Geometry(attention="gqa", layers=2), "0.5.20")
    with pytest.raises(MissingError, match="attention"):
        pool(Geometry(), "0.5.20")
