"""Masks, scales and grids of functions that do not fit, beside those that look like them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.rules.patterns.test_function_arguments import of_model, of_script

LENGTHS = torch.tensor([1, 2, 3, 4, 5, 5])
SEEN = torch.arange(5)[None] < LENGTHS[:, None]  # [samples, positions]
PAST = torch.ones(5, 5).tril().bool()
HEADS = 2


def multi_head(**given):
    """An attention layer of torch.nn, which is made when it is called: its weights do not count."""

    def function(net, y):
        torch.manual_seed(0)
        layer = nn.MultiheadAttention(16, HEADS, batch_first=True)
        return layer(y, y, y, need_weights=False, **given)[0] + y

    return function


def fused(factor=1.0, **given):
    def function(net, y):
        q = (y * factor).view(6, 5, HEADS, 8).transpose(1, 2)
        k = y.view(6, 5, HEADS, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, k, **given)

    return function


def last_queries(net, y):
    k = y.view(6, 5, HEADS, 8).transpose(1, 2)
    return F.scaled_dot_product_attention(k[:, :, -2:], k, k, is_causal=True)


def weighted(mask):
    def function(net, y):
        weights = (y @ y.transpose(1, 2)).softmax(-1)
        return (weights * mask) @ y

    return function


def renormalized(net, y):
    weights = (y @ y.transpose(1, 2)).softmax(-1) * SEEN[:, None].float()
    return (weights / weights.sum(-1, keepdim=True)) @ y


def masked_twice(net, y):
    scores = (y @ y.transpose(1, 2)).masked_fill(~SEEN[:, None], -1e9)
    return (scores.softmax(-1) * SEEN[:, None].float()) @ y


def image(y):
    return y.reshape(6, 1, 5, 16)


def grid(x, y):
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    return torch.stack([columns, rows], -1).expand(6, -1, -1, -1)


def corners(n, *, aligned):
    return torch.linspace(-1, 1, n) * (1 if aligned else (n - 1) / n)


def sample(points, **given):
    return lambda net, y: F.grid_sample(image(y), points, **given)


def affine(scale):
    def function(net, y):
        theta = torch.eye(2, 3) * scale + y.mean() * 1e-3
        return F.affine_grid(theta.expand(6, 2, 3), [6, 1, 5, 16], align_corners=False)

    return function


ALIGNED = grid(corners(16, aligned=True), corners(5, aligned=True))
OWN = grid(corners(16, aligned=False), corners(5, aligned=False))
CLASSES = torch.randint(0, 5, (6, 1, 4, 4), generator=torch.Generator().manual_seed(0)).float()

MISTAKES = {
    "a mask of the past": (multi_head(attn_mask=PAST), "attn_mask is inverted: it hides each"),
    "a mask of 0 and 1": (
        multi_head(key_padding_mask=(~SEEN).float()), "is a float tensor of 0 and 1"
    ),
    "a fused mask of 0 and 1": (fused(attn_mask=PAST.float()), "is a float tensor of 0 and 1"),
    "masks in the order of heads": (
        multi_head(attn_mask=(~SEEN)[:, None].expand(6, 5, 5).repeat(HEADS, 1, 1)),
        "repeats the masks of all 6 samples 2 times",
    ),
    "a causal mask of the last queries": (last_queries, "do not see the last 3 keys"),
    "two scales": (fused(1 / math.sqrt(8)), "1/sqrt(8), which the function does as well"),
    "weights without a part": (weighted(SEEN[:, None].float()), "those of a row add up to"),
    "height and width": (
        lambda net, y: F.interpolate(image(y), size=(32, 10)), "height and width are exchanged"
    ),
    "class ids": (
        lambda net, y: y.mean() * F.interpolate(CLASSES, scale_factor=2, mode="bilinear"),
        "as class ids are",
    ),
    "pixels": (sample(OWN * 50 + 60, align_corners=False), "must be between -1 and 1, not pixels"),
    "rows first": (sample(OWN.flip(-1), align_corners=False), "the image is transposed"),
    "other corners": (sample(ALIGNED, align_corners=False), "has the step of align_corners=True"),
    "small matrices": (affine(0.1), "begin far from the identity"),
}  # fmt: skip
HEALTHY = {
    "a mask of the future": multi_head(attn_mask=~PAST),
    "a mask of padding": multi_head(key_padding_mask=~SEEN),
    "a bias": multi_head(attn_mask=torch.rand(5, 5)),
    "masks in the order of samples": multi_head(
        attn_mask=(~SEEN)[:, None].expand(6, 5, 5).repeat_interleave(HEADS, 0)
    ),
    "a fused mask": fused(attn_mask=PAST),
    "a causal mask": fused(is_causal=True),
    "one scale": fused(1 / math.sqrt(8), scale=1.0),
    "normalized queries": fused(10.0),
    "weights of whole rows": weighted(SEEN[..., None].float()),
    "weights that are normalized again": renormalized,
    "scores that were masked before": masked_twice,
    "a larger image": lambda net, y: F.interpolate(image(y), size=(10, 32)),
    "a mask of an object": lambda net, y: (
        y.mean() * F.interpolate((CLASSES > 2).float(), scale_factor=2, mode="bilinear")
    ),
    "class ids, nearest": lambda net, y: y.mean() * F.interpolate(CLASSES, scale_factor=2),
    "a grid": sample(OWN, align_corners=False),
    "a grid of aligned corners": sample(ALIGNED, align_corners=True),
    "a zoom": sample(OWN * 0.7, align_corners=False),
    "the identity": affine(1.0),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name):
    function, message = MISTAKES[name]
    assert [one for one in of_model(function) if message in one]
    assert [one for one in of_script(function) if message in one]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_arguments_are_not_accused(name):
    assert of_model(HEALTHY[name]) == []
    assert of_script(HEALTHY[name]) == []
