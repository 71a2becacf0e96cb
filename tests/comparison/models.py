"""Five models, each with four faults that can be planted: what `hookcli diff` has to find.

`FAULTS` says for each where the fault is, by hand: ("output", name) where a module's own output is
wrong, ("code", name) where the code of a module hands something wrong to a module that it calls.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

FAULTS = {
    ("conv", "weight"): ("output", "block.conv2"),
    ("conv", "activation"): ("output", "block.act"),
    ("conv", "epsilon"): ("output", "block.bn1"),
    ("conv", "residual"): ("code", "block"),  # the block's act gets the sum
    ("transformer", "weight"): ("output", "blocks.1.attn.qkv"),
    ("transformer", "activation"): ("code", "blocks.1.mlp"),
    ("transformer", "epsilon"): ("output", "blocks.1.ln2"),
    ("transformer", "residual"): ("output", "blocks.2"),
    ("lstm", "weight"): ("output", "lstm"),
    ("lstm", "activation"): ("code", ""),  # the head gets the activated sum
    ("lstm", "epsilon"): ("output", "norm"),
    ("lstm", "residual"): ("code", ""),
    ("mlp", "weight"): ("output", "layers.2.down"),
    ("mlp", "activation"): ("output", "layers.3.act"),
    ("mlp", "epsilon"): ("output", "layers.1.norm"),
    ("mlp", "residual"): ("output", "layers.4"),
    ("llama", "weight"): ("output", "model.layers.1.mlp.up_proj"),
    ("llama", "activation"): ("output", "model.layers.0.mlp.act_fn"),
    ("llama", "epsilon"): ("output", "model.layers.1.post_attention_layernorm"),
    ("llama", "residual"): ("output", "model.layers.0"),
}
BATCHES = {
    "conv": "2x3x12x12", "transformer": "2x7:int64:0..50", "lstm": "2x9:int64:0..40",
    "mlp": "4x16", "llama": "input_ids=2x6:int64:0..64",
}  # fmt: skip


def nudge(parameter):
    with torch.no_grad():
        parameter.view(-1)[5] += 1e-3


class ConvBlock(nn.Module):
    def __init__(self, channels, fault):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels, eps=1e-6 if fault == "epsilon" else 1e-5)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.act = nn.SiLU() if fault == "activation" else nn.ReLU()
        self.residual = fault != "residual"
        if fault == "weight":
            nudge(self.conv2.weight)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return self.act(x + y if self.residual else y)


class Conv(nn.Module):
    def __init__(self, fault=None):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.block = ConvBlock(8, fault)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.block(F.relu(self.stem(x))).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, dim, fault):
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)
        self.approximate = "tanh" if fault == "activation" else "none"

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate=self.approximate))


class Block(nn.Module):
    def __init__(self, dim, fault):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = Attention(dim)
        self.ln2 = nn.LayerNorm(dim, eps=1e-6 if fault == "epsilon" else 1e-5)
        self.mlp = FeedForward(dim, fault)
        self.residual = fault != "residual"
        if fault == "weight":
            nudge(self.attn.qkv.weight)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        y = self.mlp(self.ln2(x))
        return x + y if self.residual else y


class Transformer(nn.Module):
    def __init__(self, fault=None):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        where = 2 if fault == "residual" else 1
        self.blocks = nn.ModuleList(Block(32, fault if i == where else None) for i in range(4))
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 50)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Tagger(nn.Module):
    def __init__(self, fault=None):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.lstm = nn.LSTM(12, 12, num_layers=2, batch_first=True)
        self.norm = nn.LayerNorm(12, eps=1e-6 if fault == "epsilon" else 1e-5)
        self.head = nn.Linear(12, 6)
        self.fault = fault
        if fault == "weight":
            nudge(self.lstm.weight_hh_l1)

    def forward(self, ids):
        x = self.embed(ids)
        y = self.norm(self.lstm(x)[0])
        if self.fault != "residual":
            y = x + y
        return self.head(torch.sigmoid(y) if self.fault == "activation" else torch.tanh(y))


class Layer(nn.Module):
    def __init__(self, dim, fault):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-6 if fault == "epsilon" else 1e-5)
        self.up = nn.Linear(dim, 2 * dim)
        self.act = nn.Tanh() if fault == "activation" else nn.GELU()
        self.down = nn.Linear(2 * dim, dim)
        self.residual = fault != "residual"
        if fault == "weight":
            nudge(self.down.weight)

    def forward(self, x):
        y = self.down(self.act(self.up(self.norm(x))))
        return x + y if self.residual else y


class Mlp(nn.Module):
    def __init__(self, fault=None):
        super().__init__()
        where = {"epsilon": 1, "weight": 2, "activation": 3, "residual": 4}.get(fault)
        self.layers = nn.ModuleList(Layer(16, fault if i == where else None) for i in range(6))
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def llama(fault=None):
    """transformers' Llama with two small layers."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    class WithoutResidual(LlamaDecoderLayer):
        def forward(self, hidden_states, *args, **kwargs):
            out = super().forward(hidden_states, *args, **kwargs)
            return out - hidden_states

    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    layers = model.model.layers
    if fault == "weight":
        nudge(layers[1].mlp.up_proj.weight)
    elif fault == "activation":
        layers[0].mlp.act_fn = nn.GELU()
    elif fault == "epsilon":
        layers[1].post_attention_layernorm.variance_epsilon = 2e-6
    elif fault == "residual":
        layers[0].__class__ = WithoutResidual
    return model


BUILD = {"conv": Conv, "transformer": Transformer, "lstm": Tagger, "mlp": Mlp, "llama": llama}
conv, transformer, lstm, mlp = Conv, Transformer, Tagger, Mlp
