"""How alike two names of modules or parameters are: "q_proj" and "query", "ln_1" and "norm1"."""

from __future__ import annotations

import functools
import re
from difflib import SequenceMatcher

# Words of one row mean the same in public models.
_FAMILIES = (
    ("q", "query", "wq", "q_lin", "to_q", "toq"),
    ("k", "key", "wk", "k_lin", "to_k", "tok_k"),
    ("v", "value", "wv", "v_lin", "to_v"),
    ("o", "out", "output", "wo", "out_lin", "to_out", "dense", "proj", "c_proj", "resid"),
    ("qkv", "query_key_value", "c_attn", "in_proj", "wqkv", "to_qkv"),
    ("gate", "w1", "wi_0", "gate_proj"),
    ("up", "w3", "wi_1", "up_proj", "fc1", "c_fc", "wi", "fc_in", "lin1", "intermediate", "expand"),
    ("down", "w2", "down_proj", "fc2", "fc_out", "lin2", "contract"),
    ("norm", "ln", "layernorm", "layer_norm", "rmsnorm", "bn", "batchnorm", "normalization"),
    ("attn", "attention", "self_attn", "self", "mha", "selfattention"),
    ("mlp", "ffn", "ff", "feed", "forward", "feedforward", "feed_forward", "densereludense"),
    ("wte", "embed", "tok", "token", "word", "embed_tokens", "embeddings", "emb", "shared"),
    ("wpe", "pos", "position", "positional"),
    ("head", "lm_head", "classifier", "fc", "logits", "unembed"),
    ("weight", "gamma", "w", "kernel", "scale"),
    ("bias", "beta", "b", "shift"),
    ("conv", "convolution"),
    ("downsample", "shortcut", "residual", "skip"),
)
_FAMILY = {word: number for number, row in enumerate(_FAMILIES) for word in row}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@functools.cache
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without numbers: "h.0.attn.c_attn" has 4."""
    found: list[str] = []
    for part in name.split("."):
        low = part.lower()
        if low in _FAMILY or not low:
            found += [low] if low else []
            continue
        pieces = [piece.lower() for piece in _WORD.findall(part)]
        found += [piece for piece in pieces if not piece.isdigit()]
    return tuple(found)


@functools.cache
def meaning(name: str) -> frozenset[int | str]:
    """Return what the words of a name mean: numbers of families, and unknown words."""
    return frozenset(_FAMILY.get(word, word) for word in words(name))


@functools.cache
def likeness(a: str, b: str) -> float:
    """Return how alike two names are, from 0 to 1. The last words count most."""
    ours, theirs = words(a), words(b)
    if not ours or not theirs:
        return float(ours == theirs)
    last = _alike(ours[-1], theirs[-1])
    both = meaning(a) | meaning(b)
    shared = len(meaning(a) & meaning(b)) / len(both) if both else 0.0
    return 0.6 * last + 0.4 * shared


def _alike(a: str, b: str) -> float:
    if a == b or _FAMILY.get(a, a) == _FAMILY.get(b, b):
        return 1.0
    return 0.5 * SequenceMatcher(None, a, b).ratio()


def number_of(name: str) -> str:
    """Return the number at the end of the last part of a name that is more: "1" of "h.0.norm_1"."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    found = re.search(r"\d+$", parts[-1]) if parts else None
    return found.group() if found else ""


_PARTS = ((0, "q"), (1, "k"), (2, "v"), (5, "gate"), (6, "up"))


def rank_of_part(name: str) -> int | None:
    """Return the place of a part in a fused layer: q, k, v; gate, up. None for other names."""
    for word in reversed(words(name)):
        family = _FAMILY.get(word)
        for rank, (known, _) in enumerate(_PARTS):
            if family == known:
                return rank
    return None


def same_role(leaf: str, other: str) -> bool:
    """Return whether two last names are of one role: "bias" and "bias", or "in_proj_bias"."""
    return leaf == other or other.endswith(f"_{leaf}") or leaf.endswith(f"_{other}")
