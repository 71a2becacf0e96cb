"""A small BERT of transformers, which classifies."""

import torch
from transformers import BertConfig, BertForSequenceClassification


def build_model() -> BertForSequenceClassification:
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, max_position_embeddings=16,
        )
    )  # fmt: skip


def example_inputs() -> dict[str, torch.Tensor]:
    return {"input_ids": torch.arange(16).reshape(2, 8) * 5 % 64}
