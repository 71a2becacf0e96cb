"""A small Qwen2 of transformers: biases in the projections, grouped queries."""

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM


def build_model() -> Qwen2ForCausalLM:
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, use_cache=False,
        )
    )  # fmt: skip


def example_inputs() -> dict[str, torch.Tensor]:
    return {"input_ids": torch.arange(16).reshape(2, 8) * 5 % 64}
