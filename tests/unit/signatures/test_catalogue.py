"""Every signature is complete, does what its samples say, and is needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from recorded import CLASSES, COMPILED

from dsv4deploy.model.profile import Profile
from dsv4deploy.model.signature import Sample, Signature
from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.triage import triage_text
from dsv4deploy.signatures import catalogue, compiled
from dsv4deploy.source import rulebook

FOLDER = Path(__file__).parents[3] / "dsv4deploy" / "signatures"
ALL = catalogue()
WITH_CLASS = [signature for signature in ALL if signature.class_]
SHIPPED = Catalogue(COMPILED)
REACHED = {
    "args": (),
    "init": ("server_args=ServerArgs(model_path='x')",),
    "load": ("server_args=ServerArgs(model_path='x')", "Load weight begin. avail mem=93.10 GB"),
    "pool": ("server_args=ServerArgs(model_path='x')", "Load weight end. elapsed=33.2 s, mem usage=41.9 GB"),
    "capture": ("Load weight end. elapsed=33.2 s", "Capture target decode CUDA graph begin. bs=[1, 2, 4]"),
    "warmup": ("Load weight end. elapsed=33.2 s", "INFO:     Started server process [4711]"),
    "serve": ("Load weight end. elapsed=33.2 s", "The server is fired up and ready to roll!"),
}
RANKS = ("", " TP0", " DP1 TP3 EP3", " PP0 TP7")


def died(sample: Sample, rank: str) -> str:
    """A log in which a rank says the sample's line as its last words."""
    stamp = f"[2026-06-17 23:46:02{rank}] "
    before = "".join(f"{stamp}{line}\n" for line in REACHED[sample.stage])
    death = f'{stamp}Scheduler hit an exception: Traceback (most recent call last):\n  File "x.py", line 1, in y\n'
    after = "[2026-06-17 23:46:03] Received sigquit from a child process. It usually means the child failed.\n"
    return f"{before}{death}{sample.log}\n{after}"


def samples() -> Iterator[object]:
    for signature in WITH_CLASS:
        for number, sample in enumerate(signature.samples):
            yield pytest.param(signature, sample, id=f"{signature.id}-{number}")


def test_a_file_is_named_for_its_signature() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == [signature.id for signature in ALL]


def test_every_class_has_a_signature_and_every_signature_a_class_that_exists() -> None:
    assert {signature.class_ for signature in WITH_CLASS} == set(CLASSES)
    assert {name for signature in ALL for name in signature.over} <= set(CLASSES)


@pytest.mark.parametrize("signature", WITH_CLASS, ids=lambda signature: signature.id)
def test_a_signature_says_what_to_change_how_to_mend_and_how_to_refute(signature: Signature) -> None:
    assert signature.change
    assert signature.remedy
    assert signature.refute
    assert all(source.startswith("https://") for source in signature.sources)


@pytest.mark.parametrize(("signature", "sample"), list(samples()))
def test_a_sample_is_recognised_as_the_last_words_of_any_rank(signature: Signature, sample: Sample) -> None:
    for rank in RANKS:
        answer = triage_text(died(sample, rank), SHIPPED)
        assert answer["class"] == signature.class_
        assert answer["change"]


@pytest.mark.parametrize("signature", [s for s in ALL if s.says == "noise"], ids=lambda signature: signature.id)
def test_noise_explains_nothing_and_would_mislead_if_it_were_not_known(signature: Signature) -> None:
    without = Catalogue(compiled(one for one in ALL if one is not signature))
    misled = []
    for sample in signature.samples:
        stamp = "" if sample.log.startswith("[rank") else "[2026-06-17 23:46:02 TP0] "
        assert triage_text(f"{stamp}{sample.log}\n", SHIPPED)["class"] is None
        misled.append(triage_text(f"{stamp}{sample.log}\n", without)["class"])
    assert any(misled)


@pytest.mark.parametrize("signature", [s for s in ALL if s.says == "death"], ids=lambda signature: signature.id)
def test_a_death_of_unknown_cause_is_a_failure_that_is_not_recognised(signature: Signature) -> None:
    without = Catalogue(compiled(one for one in ALL if one is not signature))
    for sample in signature.samples:
        text = f"{REACHED['serve'][1]}\n{sample.log}\nKaboomError: the moon is too bright\n"
        assert triage_text(text, SHIPPED)["then"] == {"state": "crashed", "line": 2}
        assert triage_text(text, without)["then"] is None


@pytest.mark.parametrize("signature", [s for s in ALL if s.says == "stop"], ids=lambda signature: signature.id)
def test_a_stop_is_ours_and_no_failure(signature: Signature) -> None:
    for sample in signature.samples:
        after = "Subprocess scheduler_0 (pid=1) crashed with exit code -15. Triggering SIGQUIT for cleanup..."
        answer = triage_text(f"{REACHED['serve'][1]}\n{sample.log}\n{after}\n", SHIPPED)
        assert (answer["state"], answer["class"]) == ("ready", None)
        assert answer["then"] == {"state": "stopped-by-us", "line": 2}


def test_taking_any_signature_away_changes_an_answer() -> None:
    """A signature that nothing would miss is no knowledge."""
    names = {triage_text(died(sample, " TP0"), SHIPPED).get("signature") for s in WITH_CLASS for sample in s.samples}
    assert {signature.id for signature in WITH_CLASS} <= names


def keys(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Every key path of a profile."""
    for name, field in model.model_fields.items():
        yield before + (field.alias or name)
        for inner in models(field.annotation):
            yield from keys(inner, f"{before}{field.alias or name}.")


def models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models(argument)


def test_what_to_change_are_keys_of_a_profile_and_rules_are_in_the_catalogue() -> None:
    assert {path for signature in ALL for path in signature.change} <= set(keys(Profile))
    assert {rule for signature in ALL for rule in signature.rules} <= {rule.id for rule in rulebook.catalogue()}
