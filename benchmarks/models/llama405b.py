"""Llama 3.1 405B by its public config: 405,853,388,800 parameters, 1.6 TB in float32."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def build_model():
    return LlamaForCausalLM(
        LlamaConfig(
            hidden_size=16384,
            intermediate_size=53248,
            num_hidden_layers=126,
            num_attention_heads=128,
            num_key_value_heads=8,
            vocab_size=128256,
            max_position_embeddings=131072,
            tie_word_embeddings=False,
        )
    )


def example_inputs():
    return (torch.zeros(1, 8, dtype=torch.int64),)
