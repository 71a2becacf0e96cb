"""Architectures around attention."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "attn_multihead",
    "MultiheadAttention: its out_proj is a child that is never called; returns None too",
    lambda: call(t(2, 3, 4), t(5, 2, 4)),
)
class Multihead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.MultiheadAttention(4, 2, batch_first=True)
        self.cross = nn.MultiheadAttention(4, 2, kdim=4, vdim=4, add_bias_kv=True)
        self.odd = nn.MultiheadAttention(4, 1, kdim=4, vdim=2, bias=False, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Any, ...]:
        y, none = self.first(x, x, x, need_weights=False)
        z, w = self.cross(y.transpose(0, 1), memory, memory, average_attn_weights=False)
        return none, w, self.odd(x, z.transpose(0, 1), z.transpose(0, 1)[..., :2])


@ENTRIES.add(
    "attn_encoder_fast_path",
    "TransformerEncoder in eval: one fused operation, the layers' children are not called",
    lambda: call(t(2, 3, 4)),
)
class EncoderFastPath(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            fused = self.encoder(x)
        return fused + self.encoder(x)


@ENTRIES.add(
    "attn_encoder_padding",
    "TransformerEncoder with a padding mask: nested tensors between its layers",
    lambda: call(t(2, 3, 4), torch.tensor([[False, False, True], [False, True, True]])),
    fake=False,
)
class EncoderPadding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x: Tensor, pad: Tensor) -> Tensor:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says that nested tensors are a prototype
            return self.encoder(x, src_key_padding_mask=pad)


@ENTRIES.add(
    "attn_transformer",
    "nn.Transformer, whole, with a causal mask and sequence first",
    lambda: call(t(3, 2, 4), t(5, 2, 4)),
)
class WholeTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says that sequence first is slower
            self.model = nn.Transformer(4, 2, 1, 2, 8)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        mask = self.model.generate_square_subsequent_mask(tgt.shape[0])
        return self.model(src, tgt, tgt_mask=mask, tgt_is_causal=True)


class CausalBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(8)
        self.qkv = nn.Linear(8, 16, bias=False)
        self.out = nn.Linear(8, 8, bias=False)

    def forward(self, x: Tensor, past: Any = None, *, rope: Tensor) -> tuple[Tensor, Any]:
        q, k, v = self.qkv(self.norm(x)).split([8, 4, 4], -1)
        k = k * rope
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        heads = q.unflatten(-1, (2, 4)).transpose(1, 2)
        y = F.scaled_dot_product_attention(heads, k[:, None], v[:, None])
        return x + self.out(y.transpose(1, 2).flatten(2)), (k, v)


@ENTRIES.add(
    "attn_generate",
    "a decoder's greedy generation in forward: prefill, then steps with growing caches",
    lambda: call(ids(1, 4), new=3),
)
class Generate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 8)
        self.blocks = nn.ModuleList(CausalBlock() for _ in range(2))
        self.head = nn.Linear(8, 8, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, tokens: Tensor, new: int) -> dict[str, Any]:
        past: list[Any] = [None] * len(self.blocks)
        x, out = tokens, tokens
        for _ in range(new):
            h = self.emb(x)
            rope = torch.arange(x.shape[1]).cos()[:, None]
            for i, block in enumerate(self.blocks):
                h, past[i] = block(h, past[i], rope=rope)
            x = self.head(h[:, -1:]).argmax(-1)
            out = torch.cat([out, x], 1)
        return {"sequences": out, "past_key_values": tuple(past)}


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 3, bias=False)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.gate(x)
        weights = logits.topk(2, -1)
        dense = torch.zeros_like(logits).scatter(-1, weights.indices, weights.values.softmax(-1))
        return sum(e(x) * dense[..., i : i + 1] for i, e in enumerate(self.experts)), logits


@ENTRIES.add(
    "attn_mixture_of_experts",
    "a mixture of experts, run densely; router logits are collected on the side",
    lambda: call(t(2, 3, 4)),
)
class MixtureOfExperts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.routers = nn.ModuleList(Router() for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        logits: tuple[Tensor, ...] = ()
        for router in self.routers:
            x, one = router(x)
            logits += (one,)
        return x, logits


@ENTRIES.add(
    "attn_mixer",
    "an MLP mixer: transposes between children, patches by an unfold module",
    lambda: call(t(1, 3, 4, 4)),
)
class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Unfold(2, stride=2)
        self.tokens = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
        self.channels = nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 12))

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x)
        x = x + self.tokens(x)
        return (x.mT + self.channels(x.mT)).mean(1)


class Tower(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.proj = nn.Parameter(torch.ones(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.layers(x) @ self.proj, dim=-1)


@ENTRIES.add(
    "attn_two_towers",
    "an image and a text tower with a 0-d logit scale; all arguments optional",
    lambda: call(pixels=t(2, 3, 4, 4), tokens=ids(5, 6)),
)
class TwoTowers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image = Tower(nn.Conv2d(3, 4, 4), nn.Flatten())
        self.text = Tower(nn.EmbeddingBag(8, 4))
        self.logit_scale = nn.Parameter(torch.ones([]))

    def forward(self, tokens: Any = None, pixels: Any = None, return_loss: Any = None) -> Any:
        i, j = self.image(pixels), self.text(tokens)
        logits = self.logit_scale.exp() * i @ j.t()
        return {"per_image": logits, "per_text": logits.t(), "loss": return_loss}


@ENTRIES.add(
    "attn_seq2seq",
    "an encoder, and an attention loop over the decoder with teacher forcing at fixed steps",
    lambda: call(ids(2, 4), ids(2, 5)),
)
class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 4)
        self.encoder = nn.GRU(4, 4, batch_first=True)
        self.attend = nn.MultiheadAttention(4, 1, batch_first=True)
        self.cell = nn.GRUCell(8, 4)
        self.out = nn.Linear(4, 8)

    def forward(self, src: Tensor, tgt: Tensor) -> tuple[Tensor, list[Tensor]]:
        memory, h = self.encoder(self.emb(src))
        h, token, logits, maps = h[0], tgt[:, 0], [], []
        for step in range(1, tgt.shape[1]):
            context, weights = self.attend(h[:, None], memory, memory)
            h = self.cell(torch.cat([self.emb(token), context[:, 0]], 1), h)
            logits.append(self.out(h))
            maps.append(weights)
            token = tgt[:, step] if step % 2 else logits[-1].argmax(1)
        return torch.stack(logits, 1), maps
