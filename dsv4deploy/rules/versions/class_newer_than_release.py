"""In which release each model class came; those of 0.5.6, and drafts, are left out."""

from typing import Final

from dsv4deploy.model.rule import Ask, before

CAME: Final = {
    "0.5.6.post1": (
        "Ministral3ForCausalLM", "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration",
    ),
    "0.5.6.post2": (
        "PaddleOCRVLForConditionalGeneration",
    ),
    "0.5.7": (
        "GlmAsrForConditionalGeneration", "MiDashengLMModel", "MiMoV2FlashForCausalLM",
    ),
    "0.5.8": (
        "AfmoeForCausalLM", "Glm4MoeLiteForCausalLM", "IQuestCoderForCausalLM", "IQuestLoopCoderForCausalLM",
    ),
    "0.5.9": (
        "BailingMoeV2_5ForCausalLM", "Ernie4_5_VLMoeForConditionalGeneration", "Exaone4ForCausalLM",
        "ExaoneMoEForCausalLM", "GlmMoeDsaForCausalLM", "GlmOcrForConditionalGeneration",
        "GraniteMoeHybridForCausalLM", "InternS1ProForConditionalGeneration", "KimiK25ForConditionalGeneration",
        "Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "LightOnOCRForConditionalGeneration",
        "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "SDARForCausalLM",
        "SDARMoeForCausalLM", "Step3p5ForCausalLM", "StepVLForConditionalGeneration",
    ),
    "0.5.10": (
        "Lfm2VlForConditionalGeneration", "SarvamMLAForCausalLM", "SarvamMoEForCausalLM",
        "WhisperForConditionalGeneration",
    ),
    "0.5.11": (
        "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "HYV3ForCausalLM", "MiMoV2ForCausalLM",
        "MossVLForConditionalGeneration", "NemotronH_Nano_Omni_Reasoning_V3", "Qwen3ASRForConditionalGeneration",
        "VoxtralForConditionalGeneration",
    ),
    "0.5.12": (
        "InternS2PreviewForConditionalGeneration", "LagunaForCausalLM", "MiniCPMV4_6ForConditionalGeneration",
    ),
    "0.5.13": (
        "Cohere2MoeForCausalLM", "Cohere2VisionForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration",
        "NemotronHPuzzleForCausalLM", "Step3p7ForConditionalGeneration",
    ),
    "0.5.14": (
        "MiMoV2ASRForCausalLM", "ZayaForCausalLM",
    ),
    "0.5.15": (
        "DFlashLagunaForCausalLM", "HrmTextForCausalLM", "LocateAnythingForConditionalGeneration",
        "UnlimitedOCRForCausalLM",
    ),
    "0.5.16": (
        "GlmImageForConditionalGeneration", "InklingForConditionalGeneration", "MellumForCausalLM",
        "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration",
    ),
    "0.5.17": (
        "KimiK3ForConditionalGeneration", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM",
    ),
    "0.5.18": (
        "InternS2MobiusForConditionalGeneration", "MuseGlimmerForCausalLM", "MuseGlimmerForConditionalGeneration",
    ),
    "0.5.19": (
        "BailingMoeV3ForCausalLM", "Dots3NoteForCausalLM", "GraniteMoeSWAForCausalLM", "GraniteMoeSharedForCausalLM",
        "GraniteSWAForCausalLM", "KimiK3LinearForCausalLM", "MiniCPMSALAForCausalLM", "Spark2_5ForCausalLM",
    ),
    "0.5.20": (
        "Cosmos3EdgeForConditionalGeneration", "Cosmos3ForConditionalGeneration", "Glm5NextForConditionalGeneration",
        "HYV4ForCausalLM", "K2HorizonForCausalLM", "NanbeigeForCausalLM", "NemotronH_Omni_Reasoning_V3",
        "FalconMambaForCausalLM", "Mamba2ForCausalLM", "MambaForCausalLM", "Qwen4ExpForConditionalGeneration",
        "XllmForCausalLM",
    ),
    "0.5.21": (
        "BailingMM2NativeForConditionalGeneration", "BailingMMNativeForConditionalGeneration",
        "BailingMoeV3VLForConditionalGeneration", "DiffusionGemmaForBlockDiffusion", "GigaChat35ForCausalLM",
        "IQuestQ1ForCausalLM",
    ),
    "0.5.22": (
        "ExaoneMoeForCausalLM",
    ),
    "0.5.23": (
        "BeamForCausalLM", "MiniCPMV4_7ForConditionalGeneration", "MuseSparkForConditionalGeneration",
    ),
}  # fmt: skip
SINCE: Final = {name: release for release, names in CAME.items() for name in names}


def verdict(ask: Ask) -> str | None:
    """Found if a class of the model came after the release."""
    late = [(name, SINCE[name]) for name in ask("fact:model.architectures") if name in SINCE]
    return next((f"{name} came with {since}" for name, since in late if before(ask, since)), None)
