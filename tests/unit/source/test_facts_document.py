"""A facts document is read leniently in its keys and strictly in its types."""

import json
from pathlib import Path

import pytest

from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.source.facts_document import read_facts

DATA = Path(__file__).parents[2] / "data"


def test_every_published_key_is_a_fact() -> None:
    published = set((DATA / "fact-keys.txt").read_text(encoding="utf-8").split())
    known = {*Facts.model_fields, *(f"model.{key}" for key in ModelFacts.model_fields)} - {"model"}
    # The three beside them come from config.json and stand in no other document.
    assert known - published == {"model.hidden_size", "model.head_dim", "model.vocab_size"}
    assert published <= known


def test_a_real_document_gives_its_facts() -> None:
    document = read_facts(
        {
            "schema": "facts/1",
            "arch": "sm_120",
            "gpu_memory_used_mib": [40000, 0],
            "shm_gib": 0.0625,
            "model": {"bundled_draft": "dspark", "weight_block_size": [128, 128]},
        }
    )
    assert document.diagnostics == ()
    assert document.facts == Facts(
        arch="sm_120",
        gpu_memory_used_mib=(40000, 0),
        shm_gib=0.0625,
        model=ModelFacts(bundled_draft="dspark", weight_block_size=(128, 128)),
    )


@pytest.mark.parametrize(
    ("tree", "name", "remedy"),
    [
        ({"pcie_switch": "Broadcom"}, "pcie_switch", "pcie_switches"),
        ({"b12x": "0.7.2"}, "b12x", ""),
        ({"model": {"weight_gib_per_gpu": 94}}, "model.weight_gib_per_gpu", "model.weight_bytes"),
    ],
)
def test_an_unknown_key_is_a_note_with_the_nearest(tree: dict[str, object], name: str, remedy: str) -> None:
    document = read_facts(tree)
    (note,) = document.diagnostics
    assert (note.level, note.message.split()[0]) == (Level.NOTE, name)
    assert remedy in note.remedy
    assert document.facts == Facts()


@pytest.mark.parametrize(
    ("tree", "subject"),
    [
        ({"torch": 2.11}, "fact:torch"),
        ({"gpu_count": "many"}, "fact:gpu_count"),
        ({"model": {"num_attention_heads": -1}}, "fact:model.num_attention_heads"),
        ({"model": [1]}, "fact:model"),
        ({"gpu_memory_used_mib": 5}, "fact:gpu_memory_used_mib"),
    ],
)
def test_a_wrong_type_is_an_error_and_the_rest_is_kept(tree: dict[str, object], subject: str) -> None:
    document = read_facts({"arch": "sm_120", **tree})
    (error,) = document.diagnostics
    assert (error.level, error.names) == (Level.ERROR, (subject,))
    assert document.facts == Facts(arch="sm_120")


def test_a_version_read_as_a_number_is_to_be_quoted() -> None:
    (error,) = read_facts({"torch": 2.1}).diagnostics
    assert error.remedy == "quote it"


def test_everything_wrong_is_told_at_once() -> None:
    document = read_facts({"torch": 2.1, "gpu_count": "x", "mystery": 1, "model": {"has_mtp": "perhaps"}})
    assert len(document.diagnostics) == 4


@pytest.mark.parametrize("tree", [[1], "text", 5])
def test_what_is_no_mapping_is_an_error(tree: object) -> None:
    (error,) = read_facts(tree).diagnostics
    assert error.level is Level.ERROR


def test_an_empty_document_knows_nothing() -> None:
    assert read_facts(None).facts == Facts()


@pytest.mark.parametrize("line", (DATA / "facts-documents.jsonl").read_text(encoding="utf-8").splitlines())
def test_documents_as_people_wrote_them_are_read_without_an_error(line: str) -> None:
    document = read_facts(json.loads(line))
    assert [told for told in document.diagnostics if told.level is Level.ERROR] == []
    assert document.facts != Facts()


def test_the_facts_of_several_nodes_are_no_document_of_one() -> None:
    error, *_ = read_facts({"schema": "node-facts/1", "nodes": {"gpu01": {}}}).diagnostics
    assert (error.level, "--limit NODE" in error.remedy) == (Level.ERROR, True)
