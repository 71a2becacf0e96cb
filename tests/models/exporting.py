"""Models for torch.export, and what plain PyTorch says of them. Nothing of hookcli is used."""

from __future__ import annotations

import copy
import importlib.util
import sys
import warnings
from dataclasses import dataclass

import torch
from torch import nn

from tests import truth
from tests.conftest import SAMPLES
from tests.torch_version import require_torch

# torch.export refuses these itself: sizes out of values, a named tuple, a class of the user's.
NOT_EXPORTED = {"lstm_tagger", "moe", "vae"}


class Regions(nn.Module):
    """Layers that run without gradients, and within them some that run with."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.c = nn.BatchNorm1d(4)

    def forward(self, x):
        with torch.no_grad():
            x = self.c(self.b(x))
            with torch.enable_grad():
                y = self.a(x)
            x = x + self.b(y)
        return self.a(x) + y


class Again(nn.Module):
    """Modules called twice and not alike, in lists and dicts, beside constants and buffers."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)) for _ in range(2)
        )
        self.named = nn.ModuleDict({"norm": nn.LayerNorm(4)})
        self.inner = Scaled()
        self.register_buffer("ones", torch.ones(4), persistent=False)
        self.constant = torch.arange(4.0)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        for block in self.blocks:
            x = block(x) * self.ones
        x = self.inner(self.inner(x), 2.0)
        return {"out": self.named["norm"](x) + self.constant, "others": [x.sum(), 1]}


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, scale=None):
        return self.fc(x) if scale is None else self.fc(x) * scale


class Shared(nn.Module):
    """A module under two names, and a weight that two modules have."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.first = nn.Linear(4, 4)
        self.second = self.first
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.second(self.first(self.table(x))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(self.attention(x, x, x)[0])


MODELS = {
    "regions": (Regions, lambda: (torch.randn(3, 4),)),
    "again": (Again, lambda: (torch.randn(3, 4),)),
    "shared": (Shared, lambda: (torch.randint(0, 10, (2, 3)),)),
    "attention": (Attention, lambda: (torch.randn(2, 3, 8),)),
}


def sample(name):
    """(model, args, kwargs) of a sample model."""
    spec = importlib.util.spec_from_file_location(f"sample_{name}", SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    truth.seed()
    model = getattr(module, module.EXPECTED["type"])()
    given = getattr(model, "example_inputs", None) or module.example_inputs
    given = given() if callable(given) and not isinstance(given, torch.Tensor) else given
    if isinstance(given, dict):
        return model, (), given
    return model, given if isinstance(given, tuple) else (given,), {}


SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
TEXT = {**SIZES, "vocab_size": 100, "max_position_embeddings": 32}
LLAMA = {**TEXT, "num_key_value_heads": 1, "use_cache": False}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "vocab_size": 100}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 32,
        "use_cache": False, "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 100}
PATCHES = {**SIZES, "image_size": 32, "patch_size": 8}
ARCHITECTURES = {
    "GPT2LMHeadModel": GPT2,
    "BertModel": TEXT,
    "DistilBertModel": DISTIL,
    "T5EncoderModel": T5,
    "LlamaForCausalLM": LLAMA,
    "AlbertModel": {**TEXT, "embedding_size": 8},
    "ViTModel": PATCHES,
    "CLIPVisionModel": PATCHES,
    "ConvNextModel": {"hidden_sizes": [8, 12, 16, 16], "depths": [1, 1, 2, 1]},
    "ResNetModel": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1],
                    "layer_type": "basic"},
}  # fmt: skip


def architecture(name):
    """(model, args, kwargs) of an architecture of transformers, made small."""
    import transformers

    kind = getattr(transformers, name)
    truth.seed()
    model = kind(kind.config_class(**ARCHITECTURES[name]))
    if model.main_input_name == "pixel_values":
        return model, (), {"pixel_values": torch.randn(2, 3, 32, 32)}
    return model, (), {"input_ids": torch.randint(1, 90, (2, 8))}


def save(path, model, args, kwargs=None, **options):
    """Export a copy, so that the model stays as it is."""
    require_torch("2.8", "exported programs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(copy.deepcopy(model), args, kwargs or {}, **options)
        torch.export.save(program, path)
    return path


@dataclass
class Truth:
    rows: list
    norms: dict


def plain(model, args, kwargs):
    """Rows by hand, and the norm of every parameter's gradient under the sum of the outputs."""
    rows, error = truth.by_hand(copy.deepcopy(model), args, kwargs)
    assert error is None
    model = copy.deepcopy(model)
    truth.seed()
    found = {id(t): t for t in truth.tensors(model(*args, **kwargs)) if t.requires_grad}
    sum(t.float().sum() for t in found.values()).backward()
    norms = {
        name: None if p.grad is None else float(p.grad.double().norm())
        for name, p in model.named_parameters()
    }
    return Truth(rows, norms)
