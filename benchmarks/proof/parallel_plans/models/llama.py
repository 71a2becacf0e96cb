"""A small Llama of transformers: rotary positions, SwiGLU, grouped queries."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def build_model() -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, use_cache=False,
        )
    )  # fmt: skip


def example_inputs() -> dict[str, torch.Tensor]:
    ids = torch.arange(16).reshape(2, 8) * 5 % 64
    return {"input_ids": ids, "labels": ids}
