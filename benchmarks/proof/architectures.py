"""The architectures, each with the inputs that both sides run.

The configs are the defaults, changed by `config`; inputs are values of hookcli's `--input`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Architecture:
    name: str
    model: str
    inputs: tuple[str, ...]
    dtype: str | None = None
    config: dict = field(default_factory=dict)
    note: str = ""


IDS = "2x16:int64:0..1000"
ALL = "attention_mask=2x16:int64:ones"
SOME = "attention_mask=2x16:int64:0..2"
PIXELS = "2x3x224x224"
TWO_SIDES = (f"input_ids={IDS}", "decoder_input_ids=2x8:int64:0..1000")
GROUPED = "bfloat16, because torch's fake grouped_mm accepts nothing else"
LESS = "made small, so that the run by hand has real tensors"
SMALL = {"num_hidden_layers": 2, "vocab_size": 1000}
NO_PAD = {**SMALL, "pad_token_id": 0}

TEXT = {
    "bert": "BertModel",
    "roberta": "RobertaModel",
    "distilbert": "DistilBertModel",
    "albert": "AlbertModel",
    "electra": "ElectraModel",
    "deberta": "DebertaModel",
    "deberta-v2": "DebertaV2Model",
    "mpnet": "MPNetModel",
    "modernbert": "ModernBertModel",
    "xlnet": "XLNetModel",
    "funnel": "FunnelModel",
    "fnet": "FNetModel",
    "nystromformer": "NystromformerModel",
    "mobilebert": "MobileBertModel",
    "squeezebert": "SqueezeBertModel",
    "canine": "CanineModel",
    "gpt2": "GPT2Model",
    "gpt_neo": "GPTNeoModel",
    "gpt_neox": "GPTNeoXModel",
    "gptj": "GPTJModel",
    "opt": "OPTModel",
    "bloom": "BloomModel",
    "falcon": "FalconModel",
    "llama": "LlamaModel",
    "llama_lm": "LlamaForCausalLM",
    "mistral": "MistralModel",
    "qwen2": "Qwen2Model",
    "qwen3": "Qwen3Model",
    "gemma": "GemmaModel",
    "gemma2": "Gemma2Model",
    "gemma3_text": "Gemma3TextModel",
    "phi": "PhiModel",
    "phi3": "Phi3Model",
    "olmo2": "Olmo2Model",
    "granite": "GraniteModel",
    "cohere2": "Cohere2Model",
    "glm4": "Glm4Model",
    "smollm3": "SmolLM3Model",
    "stablelm": "StableLmModel",
    "starcoder2": "Starcoder2Model",
    "lfm2": "Lfm2Model",
    "mamba": "MambaModel",
    "mamba2": "Mamba2Model",
    "falcon_mamba": "FalconMambaModel",
    "zamba2": "Zamba2Model",
    "recurrent_gemma": "RecurrentGemmaModel",
    "rwkv": "RwkvModel",
    "bart": "BartModel",
    "mbart": "MBartModel",
}
BOTH_SIDES = {
    "pegasus": "PegasusModel",
    "t5": "T5Model",
    "longt5": "LongT5Model",
    "switch_transformers": "SwitchTransformersModel",
    "m2m_100": "M2M100Model",
    "prophetnet": "ProphetNetModel",
}
VISION = {
    "vit": "ViTModel",
    "deit": "DeiTModel",
    "beit": "BeitModel",
    "dinov2": "Dinov2Model",
    "swin": "SwinModel",
    "swinv2": "Swinv2Model",
    "convnext": "ConvNextModel",
    "resnet": "ResNetModel",
    "regnet": "RegNetModel",
    "mobilenet_v2": "MobileNetV2Model",
    "mobilevit": "MobileViTModel",
    "levit": "LevitModel",
    "cvt": "CvtModel",
    "poolformer": "PoolFormerModel",
    "pvt": "PvtModel",
    "dpt": "DPTModel",
}
MIXTURES = {
    "mixtral": "MixtralModel",
    "qwen3_moe": "Qwen3MoeModel",
    "deepseek_v3": "DeepseekV3Model",
    "gpt_oss": "GptOssModel",
    "jamba": "JambaModel",
    "olmoe": "OlmoeModel",
}
# Models too big to run for real, made small: what the fake run of the whole shows, with numbers.
MADE_SMALL = {
    **dict.fromkeys(
        "deberta-v2 gptj falcon llama llama_lm mistral qwen2 qwen3 gemma gemma2 gemma3_text phi "
        "olmo2 granite stablelm starcoder2 lfm2 mamba2".split(),
        SMALL,
    ),
    **dict.fromkeys(["phi3", "glm4", "smollm3"], NO_PAD),
    "gpt_neo": {"num_layers": 2, "attention_types": [[["global", "local"], 1]], "vocab_size": 1000},
    "gpt_neox": {**SMALL, "hidden_size": 2048},
    "cohere2": {**SMALL, "hidden_size": 2048},
    "rwkv": {**SMALL, "hidden_size": 1024},
    "recurrent_gemma": {**SMALL, "num_hidden_layers": 3},
    "mixtral": {**SMALL, "intermediate_size": 512},
    "qwen3_moe": {**SMALL, "num_experts": 16},
    "deepseek_v3": {**SMALL, "num_hidden_layers": 4, "n_routed_experts": 16, "hidden_size": 512},
    "gpt_oss": {**SMALL, "num_local_experts": 4},
    "jamba": {**SMALL, "num_hidden_layers": 8, "hidden_size": 512, "intermediate_size": 512},
    "olmoe": {**SMALL, "num_experts": 16},
}
OTHERS = [
    Architecture("bert_lm", "BertForMaskedLM", (f"input_ids={IDS}", ALL)),
    Architecture("bert_masked", "BertModel", (f"input_ids={IDS}", SOME)),
    Architecture("t5_masked", "T5Model", (*TWO_SIDES, ALL)),
    Architecture("llama_masked", "LlamaModel", (f"input_ids={IDS}", ALL), config=SMALL, note=LESS),
    Architecture("big_bird", "BigBirdModel", ("1x768:int64:1..1000",)),
    Architecture("led", "LEDModel", ("1x1024:int64:2..1000",)),
    Architecture("longformer", "LongformerModel", ("1x256:int64:2..1000",)),
    Architecture("reformer", "ReformerModel", ("1x4096:int64:0..300",)),
    Architecture("tapas", "TapasModel", (IDS,)),
    Architecture(
        "layoutlm",
        "LayoutLMModel",
        (IDS, "bbox=2x16x4:int64:7..8"),
        note="empty boxes: some random boxes have a height < 0, which raises with real tensors",
    ),
    Architecture("perceiver", "PerceiverModel", ("2x64x768",)),
    Architecture("clip", "CLIPModel", (f"input_ids={IDS}", f"pixel_values={PIXELS}")),
    Architecture("siglip", "SiglipModel", (f"input_ids={IDS}", f"pixel_values={PIXELS}")),
    Architecture("blip", "BlipModel", (f"input_ids={IDS}", "pixel_values=2x3x384x384")),
    Architecture("vilt", "ViltModel", (f"input_ids={IDS}", "pixel_values=2x3x384x384")),
    Architecture(
        "lxmert", "LxmertModel", (f"input_ids={IDS}", "visual_feats=2x10x2048", "visual_pos=2x10x4")
    ),
    Architecture("segformer", "SegformerModel", ("1x3x512x512",)),
    Architecture("yolos", "YolosModel", ("1x3x512x864",)),
    Architecture("sam", "SamModel", ("pixel_values=1x3x1024x1024", "input_points=1x1x1x2")),
    Architecture("videomae", "VideoMAEModel", ("1x16x3x224x224",)),
    Architecture("timesformer", "TimesformerModel", ("1x8x3x224x224",)),
    Architecture(
        "whisper",
        "WhisperModel",
        ("input_features=1x80x3000", "decoder_input_ids=1x8:int64:0..1000"),
    ),
    Architecture("wav2vec2", "Wav2Vec2Model", ("2x16000",)),
    Architecture("hubert", "HubertModel", ("2x16000",)),
    Architecture("encodec", "EncodecModel", ("1x1x24000",)),
    Architecture("audio_spectrogram", "ASTModel", ("1x1024x128",)),
    Architecture("patchtst", "PatchTSTModel", ("2x32x1",)),
    Architecture(
        "decision_transformer",
        "DecisionTransformerModel",
        (
            "states=2x4x17",
            "actions=2x4x4",
            "rewards=2x4x1",
            "returns_to_go=2x4x1",
            "timesteps=2x4:int64:0..100",
            "attention_mask=2x4:int64:ones",
        ),
    ),
    Architecture("llava", "LlavaModel", (f"input_ids={IDS}",), note="text only"),
]

ARCHITECTURES = {
    one.name: one
    for one in (
        *(Architecture(name, model, (IDS,)) for name, model in TEXT.items()),
        *(Architecture(name, model, TWO_SIDES) for name, model in BOTH_SIDES.items()),
        *(Architecture(name, model, (PIXELS,)) for name, model in VISION.items()),
        *(Architecture(n, m, (IDS,), "bfloat16", note=GROUPED) for n, m in MIXTURES.items()),
        *OTHERS,
    )
}
ARCHITECTURES |= {
    f"{name}-small": replace(ARCHITECTURES[name], name=f"{name}-small", config=config, note=LESS)
    for name, config in MADE_SMALL.items()
}
