"""GPT-2 as transformers builds it from its default config: 124 million parameters."""

import torch
from transformers import GPT2Config, GPT2Model


def build_model():
    return GPT2Model(GPT2Config())


def example_inputs():
    return (torch.randint(0, 50257, (2, 16)),)
