"""Models that run on a GPU, each with a batch. None was written for hookcli."""

from __future__ import annotations

import contextlib
import importlib

import torch
from torch import nn

IMAGES = (
    "resnet18",
    "resnet50",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "convnext_tiny",
    "vit_b_16",
    "swin_t",
    "densenet121",
    "shufflenet_v2_x1_0",
    "regnet_y_400mf",
)
HEADS = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
WORDS = {"vocab_size": 300, "intermediate_size": 128, **HEADS}
TEXTS = {
    "GPT2": {"vocab_size": 300, "n_embd": 64, "n_layer": 2, "n_head": 4},
    "Bert": WORDS,
    "Llama": {**WORDS, "num_key_value_heads": 2},
    "Mistral": {**WORDS, "num_key_value_heads": 2},
    "Qwen2": {**WORDS, "num_key_value_heads": 2},
    "GPTNeoX": WORDS,
    "DistilBert": {"vocab_size": 300, "dim": 64, "n_heads": 4, "n_layers": 2, "hidden_dim": 128},
    "Albert": {**WORDS, "embedding_size": 32},
    "Electra": {**WORDS, "embedding_size": 32},
    "Falcon": {"vocab_size": 300, **HEADS},
}


def layers():
    """Yield models of torch.nn alone."""
    yield "LSTM", nn.LSTM(16, 32, 2, batch_first=True), torch.randn(4, 10, 16)
    yield "GRU", nn.GRU(16, 32, bidirectional=True), torch.randn(10, 4, 16)
    encoder = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    yield "TransformerEncoder", nn.TransformerEncoder(encoder, 2), torch.randn(4, 10, 32)
    yield (
        "convolutions",
        nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 8, 2, 2)
        ),
        torch.randn(2, 3, 16, 16),
    )


def images():
    """Yield models of torchvision, with random weights."""
    models = importlib.import_module("torchvision.models")
    for name in IMAGES:
        model = getattr(models, name)(weights=None)
        yield name, model, torch.randn(4, 3, 224, 224)


def texts():
    """Yield models of transformers, made small, with random weights."""
    transformers = importlib.import_module("transformers")
    for name, sizes in TEXTS.items():
        with contextlib.suppress(AttributeError):
            config = getattr(transformers, f"{name}Config")(**sizes)
            yield name, getattr(transformers, f"{name}Model")(config), torch.randint(300, (2, 16))


def all_models():
    """Yield (name, model, batch) of each model whose library is installed, on the CPU."""
    for family in (layers, images, texts):
        torch.manual_seed(0)
        with contextlib.suppress(ImportError):
            yield from family()
