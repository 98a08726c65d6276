"""What is printed as facts is read back as the same facts."""

from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.checkpoint import Checkpoint, Geometry, ModelReading, TensorClass
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.source.document import load
from dsv4deploy.source.facts_document import read_facts
from dsv4deploy.views.facts import facts_json, facts_tree, facts_yaml
from tests.unit.stages.memory.cases import share

WORDS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn")), max_size=30
) | st.sampled_from(
    [
        "580",
        "2.11",
        "1e3",
        "12e4567",
        "off",
        "null",
        "~",
        "2026-11-29",
        "12:30:45",
        "010",
        "0x1F",
        "1_000",
        "-",
        "",
        " a ",
        "a: b",
        "# a",
    ]
)
READING = ModelReading(
    facts=ModelFacts(model_type="deepseek_v4", architectures=("DeepseekV4ForCausalLM",), missing_shards=()),
    checkpoint=Checkpoint(
        geometry=Geometry(attention="compressed", layers=43, compress_ratios=(0, 0, *((4, 128) * 20), 4, 0)),
        weights=(share(TensorClass.EXPERTS, 8), share(TensorClass.EXPERTS, 1, draft=True)),
        weights_from="headers",
    ),
)


@given(WORDS, WORDS, st.integers(0, 10**12), st.booleans())
def test_any_facts_survive_both_formats(text: str, other: str, number: int, truth: bool) -> None:
    facts = Facts(
        torch=text,
        rdma_devices=(text, other),
        gpu_memory_mib=number,
        gpu_busy=truth,
        model=ModelFacts(quant_method=other),
    )
    tree = facts_tree(facts)
    for written in (facts_yaml(tree, ("a note: with a colon",)), facts_json(tree)):
        document = read_facts(load(written.encode(), "facts.yaml").tree)
        assert document.diagnostics == ()
        assert document.facts == facts


def test_a_model_folder_survives_with_its_checkpoint() -> None:
    for written in (facts_yaml(facts_tree(Facts(), READING)), facts_json(facts_tree(Facts(), READING))):
        document = read_facts(load(written.encode(), "facts.yaml").tree)
        assert document.facts.model == READING.facts
        assert document.checkpoint == READING.checkpoint


def test_lists_of_numbers_and_shares_take_a_line_each() -> None:
    text = facts_yaml(facts_tree(Facts(), READING))
    assert "  - {tensor_class: experts, dtype: BF16, bytes: 8589934592}" in text.splitlines()
    assert len(text.splitlines()) < 30


def test_nothing_known_is_only_the_schema() -> None:
    assert facts_yaml(facts_tree(Facts())) == "{schema: facts/1}"
