"""Architectures of transformers made so small that forward and backward run in a moment."""

from __future__ import annotations

from dataclasses import dataclass, field

# What a config calls its sizes → a small one.
SIZES = {
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2,
    "decoder_layers": 2, "num_decoder_layers": 2, "num_encoder_layers": 2,
    "num_decoder_hidden_layers": 2,
    "hidden_size": 64, "d_model": 64, "n_embd": 64, "dim": 64, "embedding_size": 64,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 128, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "ffn_dim": 128,
    "hidden_dim": 128, "d_ff": 128, "d_kv": 16, "n_inner": 128, "d_inner": 128,
    "vocab_size": 1000, "image_size": 32, "patch_size": 8, "encoder_ffn_size": 128,
}  # fmt: skip


@dataclass(frozen=True)
class Small:
    """`inputs` are (name, shape, highest id or None for floats); `config` overrides SIZES."""

    name: str
    model: str
    inputs: tuple = ()
    config: dict = field(default_factory=dict)  # None leaves a size as it is


IDS = (("input_ids", (2, 12), 1000),)
BOTH = (*IDS, ("decoder_input_ids", (2, 6), 1000))
PIXELS = (("pixel_values", (2, 3, 32, 32), None),)
WIDE = (("pixel_values", (2, 3, 64, 64), None),)

TEXT = {
    "bert": "BertModel", "bert_lm": "BertForMaskedLM", "roberta": "RobertaModel",
    "distilbert": "DistilBertModel", "albert": "AlbertModel", "electra": "ElectraModel",
    "deberta": "DebertaModel", "deberta-v2": "DebertaV2Model", "mpnet": "MPNetModel",
    "modernbert": "ModernBertModel", "xlnet": "XLNetModel", "funnel": "FunnelModel",
    "fnet": "FNetModel", "nystromformer": "NystromformerModel", "mobilebert": "MobileBertModel",
    "squeezebert": "SqueezeBertModel", "canine": "CanineModel", "gpt2": "GPT2Model",
    "gpt2_lm": "GPT2LMHeadModel", "gpt_neo": "GPTNeoModel", "gpt_neox": "GPTNeoXModel",
    "gptj": "GPTJModel", "opt": "OPTModel", "bloom": "BloomModel", "falcon": "FalconModel",
    "llama": "LlamaModel", "llama_lm": "LlamaForCausalLM", "mistral": "MistralModel",
    "qwen2": "Qwen2Model", "qwen3": "Qwen3Model", "gemma": "GemmaModel", "gemma2": "Gemma2Model",
    "gemma3_text": "Gemma3TextModel", "phi": "PhiModel", "phi3": "Phi3Model",
    "olmo2": "Olmo2Model", "granite": "GraniteModel", "cohere2": "Cohere2Model",
    "glm4": "Glm4Model", "smollm3": "SmolLM3Model", "stablelm": "StableLmModel",
    "starcoder2": "Starcoder2Model", "lfm2": "Lfm2Model", "mamba": "MambaModel",
    "mamba2": "Mamba2Model", "falcon_mamba": "FalconMambaModel",
    "recurrent_gemma": "RecurrentGemmaModel", "rwkv": "RwkvModel", "mixtral": "MixtralModel",
    "qwen3_moe": "Qwen3MoeModel", "olmoe": "OlmoeModel", "jamba": "JambaModel",
}  # fmt: skip
SIDES = {
    "bart": "BartModel", "mbart": "MBartModel", "pegasus": "PegasusModel", "t5": "T5Model",
    "longt5": "LongT5Model", "switch_transformers": "SwitchTransformersModel",
    "m2m_100": "M2M100Model", "prophetnet": "ProphetNetModel", "led": "LEDModel",
}  # fmt: skip
VISION = {
    "vit": "ViTModel", "deit": "DeiTModel", "beit": "BeitModel", "dinov2": "Dinov2Model",
    "swin": "SwinModel", "swinv2": "Swinv2Model", "convnext": "ConvNextModel",
    "resnet": "ResNetModel", "regnet": "RegNetModel", "mobilenet_v2": "MobileNetV2Model",
    "poolformer": "PoolFormerModel", "pvt": "PvtModel", "segformer": "SegformerModel",
}  # fmt: skip
# Architectures that were tried after the rules were fixed.
LATER = {
    "esm": "EsmModel", "roformer": "RoFormerModel", "convbert": "ConvBertModel",
    "rembert": "RemBertModel", "ibert": "IBertModel", "openai_gpt": "OpenAIGPTModel",
    "biogpt": "BioGptModel", "xglm": "XGLMModel", "mpt": "MptModel", "codegen": "CodeGenModel",
    "gpt_bigcode": "GPTBigCodeModel", "gpt_oss": "GptOssModel", "cohere": "CohereModel",
    "ctrl": "CTRLModel", "deepseek_v3": "DeepseekV3Model", "qwen3_next": "Qwen3NextModel",
    "nemotron": "NemotronModel", "bitnet": "BitNetModel", "layoutlm": "LayoutLMModel",
    "splinter": "SplinterModel", "clip_text": "CLIPTextModel", "xlm_roberta": "XLMRobertaModel",
}  # fmt: skip
LATER_SIDES = {"marian": "MarianModel", "umt5": "UMT5Model", "blenderbot": "BlenderbotModel"}
LATER_VISION = {
    "clip_vision": "CLIPVisionModel", "vit_mae": "ViTMAEModel", "yolos": "YolosModel",
    "convnextv2": "ConvNextV2Model", "ijepa": "IJepaModel", "siglip_vision": "SiglipVisionModel",
}  # fmt: skip
SOUND = (("input_values", (2, 4000), None),)
LATER_SOUND = {"wav2vec2": "Wav2Vec2Model", "hubert": "HubertModel", "wavlm": "WavLMModel"}

CONFIGS = {
    **{name: {"pad_token_id": 0} for name in ("modernbert", "phi3", "glm4", "smollm3")},
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1]},
    "gpt_neo": {"num_hidden_layers": None, "attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 16},
    "falcon": {"head_dim": None},
    "mamba2": {"num_heads": 8},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "jamba": {"num_hidden_layers": 8, "num_experts": 4},
    "qwen3_moe": {"num_experts": 8, "moe_intermediate_size": 32},
    "olmoe": {"num_experts": 8},
    "canine": {"max_position_embeddings": 512},
    "prophetnet": {"num_hidden_layers": None},
    "led": {"attention_window": [8, 8]},
    "swin": {"image_size": 64, "patch_size": 4, "window_size": 4, "depths": [1, 1],
             "num_heads": [2, 2], "embed_dim": 16},
    "swinv2": {"image_size": 64, "patch_size": 4, "window_size": 4, "depths": [1, 1],
               "num_heads": [2, 2], "embed_dim": 16},
    "convnext": {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "patch_size": 4},
    "resnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    "regnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1],
               "groups_width": 8},
    "mobilenet_v2": {"depth_multiplier": 0.35},
    "poolformer": {"hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1], "patch_size": 7},
    "pvt": {"hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 1, 2, 2], "image_size": 64},
    "segformer": {"depths": [1, 1, 1, 1]},
    "esm": {"vocab_size": 1000, "pad_token_id": 1},
    "codegen": {"rotary_dim": 16},
    "deepseek_v3": {"head_dim": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16,
                    "q_lora_rank": 16, "kv_lora_rank": 16, "n_routed_experts": 8, "n_group": 2,
                    "topk_group": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
                    "moe_intermediate_size": 32},
    "qwen3_next": {"num_hidden_layers": 4, "num_experts": 4, "num_experts_per_tok": 2,
                   "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
    "nemotron": {"num_key_value_heads": 2, "head_dim": 16},
    "marian": {"pad_token_id": 0, "decoder_start_token_id": 0},
    "convnextv2": {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "patch_size": 4},
}  # fmt: skip

SMALL = {
    name: Small(
        name, model, WIDE if 64 in CONFIGS.get(name, {}).values() else inputs, CONFIGS.get(name, {})
    )
    for models, inputs in (
        (TEXT | LATER, IDS),
        (SIDES | LATER_SIDES, BOTH),
        (VISION | LATER_VISION, PIXELS),
        (LATER_SOUND, SOUND),
    )
    for name, model in models.items()
}


def config_of(one, kind):
    """The keywords of the config."""
    default = kind()
    sizes = {key: size for key, size in SIZES.items() if type(getattr(default, key, None)) is int}
    return {key: size for key, size in {**sizes, **one.config}.items() if size is not None}
