"""ViT base as transformers builds it from its default config: 86 million parameters."""

import torch
from transformers import ViTConfig, ViTModel


def build_model():
    return ViTModel(ViTConfig())


def example_inputs():
    return (torch.randn(1, 3, 224, 224),)
