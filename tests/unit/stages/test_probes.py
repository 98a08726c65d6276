"""What probes answered is compared with recorded stacks, and tells whether peer access can be relied on."""

from pathlib import Path

import pytest

from dsv4deploy.model.probe import Card, Left, Link, Outcome, Peer, ProbeDocument, ProbeResult, Recorded, Stack
from dsv4deploy.source.probe_document import read_probes, recorded
from dsv4deploy.stages.probes import deviations, link_limit, peer_verdict, short

STACK = Stack(torch="2.11", triton="3.6", cuda="13.0", sm="9.0")
RECORDED = Recorded(
    torch="2.11", triton="3.6", cuda="13.0", sm="9.0", hardware="H200", date="d", outcomes={"a": "ok", "b": "Boom"}
)
BOOM = Link(type="x.Boom", message="it broke")


def result(name: str, outcome: Outcome = "ok", because: str = "", root: Link | None = None) -> ProbeResult:
    return ProbeResult(name=name, outcome=outcome, because=because, seconds=1, root=root, left=Left())


def document(*results: ProbeResult, stack: Stack = STACK, device: str = "cuda") -> ProbeDocument:
    content = {"schema": "probe/1", "at": "now", "device": device, "seconds": 1}
    return ProbeDocument.model_validate({**content, "stack": stack, "results": results})


def test_nothing_is_news_where_all_is_as_recorded() -> None:
    assert deviations(document(result("a"), result("b", "failed", root=BOOM)), [RECORDED]) == ()


def test_another_answer_is_news_with_what_was_expected() -> None:
    (news,) = deviations(document(result("a", "failed", root=BOOM)), [RECORDED])
    assert (news.name, news.expected, news.found, news.same_stack) == ("a", "ok", "Boom", True)


def test_another_stack_is_said_to_be_another() -> None:
    (news,) = deviations(document(result("b"), stack=STACK.model_copy(update={"torch": "2.13"})), [RECORDED])
    assert not news.same_stack


def test_the_nearest_stack_is_compared_with() -> None:
    far = RECORDED.model_copy(update={"torch": "1", "triton": "1", "outcomes": {"a": "Boom"}})
    assert deviations(document(result("a")), [far, RECORDED]) == ()


def test_what_could_not_be_asked_is_no_news() -> None:
    assert deviations(document(result("a", "unknown"), result("c", "failed")), [RECORDED]) == ()
    assert deviations(document(result("a")), []) == ()


def test_a_cuda_name_is_shorter_than_its_type() -> None:
    named = Link(type="torch.AcceleratorError", cuda=("cudaErrorStreamCaptureIsolation",))
    assert short(result("a", "failed", root=named)) == "cudaErrorStreamCaptureIsolation"
    assert short(result("a", "hangs")) == "hangs"


NCCL, PEER, WITHOUT = "all-reduce", "peer-write", "all-reduce-without-p2p"


@pytest.mark.parametrize(
    ("results", "peer"),
    [
        ((result(NCCL), result(PEER), result(WITHOUT)), Peer.RIGHT),
        ((result(NCCL, "wrong", "1 of 4"), result(PEER), result(WITHOUT)), Peer.WRONG),
        ((result(NCCL), result(PEER, "wrong", "1 of 4")), Peer.WRONG),
        ((result(NCCL, "hangs", "not over"), result(PEER)), Peer.HANGS),
        ((result(NCCL), result("all-reduce-over-all", "hangs", "not over"), result(PEER)), Peer.HANGS),
        ((result(NCCL, "died", "signal 9"), result(PEER)), Peer.FAILS),
        ((result(NCCL), result(PEER, "failed", root=Link(type="torch.AcceleratorError", number=217))), Peer.FAILS),
        ((result(NCCL, "failed", root=Link(type="torch.distributed.DistBackendError")), result(PEER)), Peer.FAILS),
        ((result(NCCL), result(PEER, "failed", root=BOOM)), Peer.UNKNOWN),
        ((result(NCCL, "hangs"), result(PEER, "unknown"), result(WITHOUT, "hangs", "not over")), Peer.UNKNOWN),
        ((result(NCCL), result(PEER, "hangs"), result(WITHOUT, "hangs")), Peer.HANGS),
        ((result(NCCL),), Peer.UNKNOWN),
        ((result(NCCL), result(PEER, "unknown", "needs peer access")), Peer.UNKNOWN),
        ((result(NCCL, "unknown", "needs two GPUs"), result(PEER, "unknown", "needs two GPUs")), Peer.UNKNOWN),
        ((), Peer.UNKNOWN),
    ],
)
def test_peer_access_is_right_only_where_nccl_and_direct_writes_are(
    results: tuple[ProbeResult, ...], peer: Peer
) -> None:
    assert peer_verdict(document(*results)).peer is peer


def test_the_verdict_says_why_and_what_to_do() -> None:
    verdict = peer_verdict(document(result(NCCL, "hangs", "not over after 30 s"), result(PEER)))
    assert "not over after 30 s" in verdict.because
    assert "nccl.p2p_disable: true" in verdict.remedy
    assert "kernels.custom_all_reduce: false" in verdict.remedy
    assert peer_verdict(document(result(NCCL, "unknown", "needs two GPUs"))).because == "needs two GPUs"


def test_a_try_without_cards_proves_nothing() -> None:
    assert peer_verdict(document(result(NCCL), result(PEER), device="cpu")).peer is Peer.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "sm", "pcie", "expected"),
    [
        ("NV18", "9.0", "5x16", "NV18: 450 GB/s one way by its maker"),
        ("PIX", "12.0", "5x16", "PIX: 63 GB/s one way by PCIe 5x16, before overhead"),
        ("SYS", "12.0", "4x8", "SYS: 15.75 GB/s one way by PCIe 4x8, before overhead"),
        ("NV4", "7.0", "?", ""),
        ("", "9.0", "5x16", ""),
    ],
)
def test_the_limit_of_a_link_is_its_makers(kind: str, sm: str, pcie: str, expected: str) -> None:
    stack = STACK.model_copy(update={"gpus": (Card(name="x", sm=sm, pcie=pcie),), "links": {"GPU0-GPU1": kind}})
    assert link_limit(stack) == expected


def recording(name: str) -> ProbeDocument:
    path = Path(__file__).parents[2] / f"samples/probes/{name}.json"
    return read_probes(path.read_text(encoding="utf-8"), name)


def test_two_runs_on_an_h200_answered_alike() -> None:
    again = recording("h200")
    assert set(recorded()[0].outcomes) <= {one.name for one in again.results}
    assert deviations(again, recorded()) == ()


def test_a_recorded_run_left_nothing_behind_whatever_happened() -> None:
    for name in ("h200", "h200-x2", "h200-x2-hang", "h200-x2-wrong", "h200-x2-die"):
        for one in recording(name).results:
            assert one.left.processes == ()
            assert not any(one.left.cards_mib)


@pytest.mark.parametrize(
    ("name", "peer"),
    [("h200-x2-hang", Peer.UNKNOWN), ("h200-x2-wrong", Peer.UNKNOWN), ("h200-x2-die", Peer.UNKNOWN)],
)
def test_a_fault_with_and_without_peer_access_is_not_blamed_on_it(name: str, peer: Peer) -> None:
    verdict = peer_verdict(recording(name))
    assert verdict.peer is peer
    assert "without peer access too" in verdict.because


def test_the_recorded_all_reduce_was_right_over_nvlink_and_slower_without() -> None:
    by_name = {one.name: one for one in recording("h200-x2").results}
    with_peers, without = by_name["all-reduce"], by_name["all-reduce-without-p2p"]
    assert (with_peers.outcome, without.outcome) == ("ok", "ok")
    assert with_peers.transport == ("P2P/CUMEM",)
    assert without.transport[0].startswith("SHM")
    largest = "payload_268435456"
    assert with_peers.figures[largest]["bus_gb_s"] > 5 * without.figures[largest]["bus_gb_s"]
    assert link_limit(recording("h200-x2").stack).startswith("NV18: 450 GB/s")
