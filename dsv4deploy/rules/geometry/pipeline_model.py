"""The model classes without pipeline stages, as `forward` of each class in each release says."""

from typing import Final

from dsv4deploy.model.rule import Ask, before

SINCE: Final = {
    "Gemma4ForCausalLM": "0.5.13",
    "Gemma4ForConditionalGeneration": "0.5.13",
    "Glm4vForConditionalGeneration": "0.5.6.post2",
    "Glm4vMoeForConditionalGeneration": "0.5.6.post2",
    "KimiK25ForConditionalGeneration": "0.5.10",
    "MiniMaxM2ForCausalLM": "0.5.10",
    "Qwen3VLForConditionalGeneration": "0.5.7",
    "Qwen3VLMoeForConditionalGeneration": "0.5.7",
    "Qwen3_5ForConditionalGeneration": "0.5.10",
    "Qwen3_5MoeForConditionalGeneration": "0.5.10",
    "Qwen4ExpForConditionalGeneration": "0.5.21",
    "SolarForCausalLM": "0.5.22",
    "TransformersForCausalLM": "0.5.10",
}
NAMES: Final = """
AfmoeForCausalLM BaichuanForCausalLM BertForSequenceClassification BertModel CLIPModel ChatGLMModel
Cohere2ForCausalLM Cohere2MoeForCausalLM Cohere2VisionForConditionalGeneration CohereForCausalLM Contriever
DbrxForCausalLM DeepseekForCausalLM DeepseekOCRForCausalLM DeepseekVL2ForCausalLM DiffusionGemmaForBlockDiffusion
DotsOCRForCausalLM EmbeddingGemma2Model EmbeddingGemmaModel Ernie4_5_ForCausalLM Ernie4_5_MoeForCausalLM
Ernie4_5_VLMoeForConditionalGeneration ExaoneForCausalLM FalconH1ForCausalLM FalconMambaForCausalLM GPT2LMHeadModel
GPTBigCodeForCausalLM GPTJForCausalLM Gemma2ForCausalLM Gemma2ForSequenceClassification Gemma3ForCausalLM
Gemma3ForConditionalGeneration Gemma3nForCausalLM Gemma3nForConditionalGeneration
Gemma4UnifiedForConditionalGeneration GemmaForCausalLM GlmAsrForConditionalGeneration
GlmImageForConditionalGeneration GraniteForCausalLM GraniteMoeForCausalLM GraniteMoeSWAForCausalLM
GraniteMoeSharedForCausalLM GraniteSWAForCausalLM Grok1ForCausalLM Grok1ModelForCausalLM HYV3ForCausalLM
HYV4ForCausalLM HrmTextForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM IQuestLoopCoderForCausalLM
IQuestQ1ForCausalLM InklingForConditionalGeneration InternLM2ForCausalLM InternLM2ForRewardModel
InternS1ForConditionalGeneration InternVLChatModel JetNemotronForCausalLM JetVLMForConditionalGeneration
KimiVLForConditionalGeneration Lfm2BidirectionalModel Lfm2ForCausalLM Lfm2MoeForCausalLM
Lfm2VlForConditionalGeneration LightOnOCRForConditionalGeneration Llama4ForConditionalGeneration LlamaEmbeddingModel
LlamaForClassification LlamaForSequenceClassification LlamaForSequenceClassificationWithNormal_Weights
LlavaLlamaForCausalLM LlavaMistralForCausalLM LlavaQwenForCausalLM LlavaVidForCausalLM
LocateAnythingForConditionalGeneration LongcatFlashForCausalLM Mamba2ForCausalLM MambaForCausalLM MiDashengLMModel
MiMoForCausalLM MiniCPM3ForCausalLM MiniCPMForCausalLM MiniCPMO MiniCPMSALAForCausalLM MistralModel
MllamaForConditionalGeneration MultiModalityCausalLM MuseGlimmerForCausalLM MuseGlimmerForConditionalGeneration
MuseSparkForConditionalGeneration NVILAForConditionalGeneration NVILALiteForConditionalGeneration
NanbeigeForSequenceClassification NemotronH_Nano_Omni_Reasoning_V3 NemotronH_Nano_VL_V2 NemotronH_Omni_Reasoning_V3
Olmo2ForCausalLM OlmoForCausalLM OlmoeForCausalLM OrionForCausalLM POINTSV15ChatModel
PaddleOCRVLForConditionalGeneration PersimmonForCausalLM Phi3SmallForCausalLM Phi4MMForCausalLM PhiForCausalLM
PhiMoEForCausalLM QWenLMHeadModel QuantMixtralForCausalLM Qwen2AudioForConditionalGeneration Qwen2ForRewardModel
Qwen2ForSequenceClassification Qwen2VLForConditionalGeneration Qwen3ASRForConditionalGeneration Qwen3ForRewardModel
Qwen3ForSequenceClassification Qwen3Model Qwen3NextForCausalLM Sarashina2VisionForCausalLM StableLmForCausalLM
Starcoder2ForCausalLM Step3VLForConditionalGeneration Step3p7ForConditionalGeneration StepVLForConditionalGeneration
UnlimitedOCRForCausalLM VoxtralForConditionalGeneration WhisperForConditionalGeneration
XLMRobertaForSequenceClassification XLMRobertaModel XverseForCausalLM XverseMoeForCausalLM YiVLForCausalLM
"""
NEVER: Final = frozenset(NAMES.split())


def verdict(ask: Ask) -> str | None:
    """Found if the first class of the model has no stages, or got them with a later release."""
    name = str(ask("fact:model.architectures")[0])
    if name in NEVER:
        return name
    came = SINCE.get(name)
    return f"{name} has them from {came} on" if came and before(ask, came) else None
