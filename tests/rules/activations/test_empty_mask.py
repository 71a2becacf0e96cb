"""`empty_mask`: masks as arguments, in the graph, and those that leave something."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.activations.measuring import found, sentence
from tests.torch_version import needs_torch

saves = needs_torch("2.10", "activations that are not modules")
LENGTH, LOW = 6, torch.finfo(torch.float32).min
IDS = torch.arange(4 * LENGTH).view(4, LENGTH) % 23 + 1


def padded(*lengths):
    ids = IDS.clone()
    for sample, length in enumerate(lengths):
        ids[sample, length:] = 0
    return ids


class Layers(nn.Module):
    """An encoder of torch.nn, with this padding mask."""

    def __init__(self, mask, layer=False):
        super().__init__()
        self.embed, self.mask = nn.Embedding(24, 16), mask
        one = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = one if layer else nn.TransformerEncoder(one, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return self.encoder(self.embed(ids), src_key_padding_mask=self.mask(ids))


class Attention(nn.Module):
    """Attention by hand: `attend` gets queries, keys and the padding (True is padding)."""

    def __init__(self, attend):
        super().__init__()
        self.embed, self.attend = nn.Embedding(24, 16), attend
        self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, ids):
        x = self.embed(ids)
        return self.attend(self.q(x), self.k(x), ids == 0)


def filled(q, k, padding):
    scores = q @ k.transpose(1, 2) / 4
    return scores.masked_fill(padding[:, None], LOW).softmax(-1) @ k


def added(q, k, padding):
    scores = q @ k.transpose(1, 2) / 4
    return (scores + padding[:, None] * LOW).softmax(-1) @ k


def fused(q, k, padding):
    return F.scaled_dot_product_attention(q, k, k, attn_mask=~padding[:, None])


def causal(q, k, padding):
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    mask = later | padding[:, None]
    return (q @ k.transpose(1, 2)).masked_fill(mask, LOW).softmax(-1) @ k


@pytest.mark.parametrize("layer", [False, True])
def test_an_inverted_padding_mask(layer):
    torch.manual_seed(0)
    ids = padded(6, 6, 4, 3)
    assert "empty_mask" not in dict(found(Layers(lambda ids: ids == 0, layer), ids))
    text, advice = sentence(Layers(lambda ids: ids != 0, layer), ids, "empty_mask")
    kind = "TransformerEncoderLayer" if layer else "TransformerEncoder"
    assert text == (
        f"src_key_padding_mask of 'encoder' ({kind}) masks every position for 2 of 4 samples: "
        "nothing is left to attend to"
    )
    assert "invert" in advice


@saves
@pytest.mark.parametrize("attend", [filled, added, fused])
def test_a_sample_without_tokens_is_found_in_the_graph(attend):
    torch.manual_seed(0)
    assert "empty_mask" not in dict(found(Attention(attend), padded(6, 5, 4, 1)))
    text, _ = sentence(Attention(attend), padded(6, 0, 4, 0), "empty_mask")
    assert "of the model masks every position for 2 of 4 samples" in text


@saves
def test_the_queries_of_padding_may_be_empty():
    torch.manual_seed(0)
    left = padded(6, 6, 6, 6)
    left[1, :3] = 0  # its first three queries see padding only
    assert "empty_mask" not in dict(found(Attention(causal), left))


@saves
def test_a_shared_mask_with_an_empty_query():
    torch.manual_seed(0)

    def shifted(q, k, _):
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(0)  # hides the query itself too
        return (q @ k.transpose(1, 2)).masked_fill(mask, LOW).softmax(-1) @ k

    text, _ = sentence(Attention(shifted), IDS, "empty_mask")
    assert "masks every position for 1 of 6 queries" in text


@saves
def test_equal_weights_of_new_queries_are_no_mask():
    torch.manual_seed(0)
    model = Attention(added)
    nn.init.zeros_(model.q.weight)
    nn.init.zeros_(model.q.bias)
    assert "empty_mask" not in dict(found(model, padded(6, 5, 4, 3)))
