"""The model classes whose encoder can be split off, by the release that brought them."""

from typing import Final

from dsv4deploy.model.rule import Ask, not_in_table

KNOWN: Final = {
    **dict.fromkeys(
        (
            "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration", "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration", "Qwen3OmniMoeForConditionalGeneration",
            "Qwen2AudioForConditionalGeneration", "Qwen2_5OmniForConditionalGeneration",
        ),
        "0.5.10",
    ),
    **dict.fromkeys(
        (
            "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "KimiVLForConditionalGeneration",
            "KimiK25ForConditionalGeneration",
        ),
        "0.5.11",
    ),
    "InternS2PreviewForConditionalGeneration": "0.5.12",
    "MiMoV2ForCausalLM": "0.5.13",
    "KimiK3ForConditionalGeneration": "0.5.17",
    "Dots3NoteForCausalLM": "0.5.19",
    "Glm5NextForConditionalGeneration": "0.5.20",
    "MiniMaxM3SparseForConditionalGeneration": "0.5.23",
    "MuseSparkForConditionalGeneration": "0.5.23",
}  # fmt: skip


def verdict(ask: Ask) -> str | None:
    """Found if the first class of the model is not in the release's list."""
    return not_in_table(ask, KNOWN)
