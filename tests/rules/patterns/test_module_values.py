"""Batch norms, masks and initial weights that are seldom meant, and what only looks like them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
RULES = ("batch_norm_statistics", "trained_mask", "equal_units")


def found(model, **options):
    report = hookcli.check(model, inputs=X, **options)
    return [(row.rule, row.severity, row.target) for row in report.checks
            if row.status == "fail" and row.rule in RULES]  # fmt: skip


def with_norm(**options):
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, **options), nn.ReLU(), nn.Linear(8, 2))


@pytest.mark.parametrize(
    ("options", "is_found"),
    [
        ({"momentum": 0.99}, True), ({"momentum": 1.0}, True), ({}, False),
        ({"momentum": None}, False), ({"momentum": 0.5}, False),
        ({"momentum": 1.0, "track_running_stats": False}, False), ({"momentum": 0.0}, True),
        ({"momentum": 0.0, "track_running_stats": False}, False),
    ],
)  # fmt: skip
def test_statistics_that_are_no_averages_are_found(options, is_found):
    expected = [("batch_norm_statistics", "warning", "1")] if is_found else []
    assert found(with_norm(**options)) == expected


def test_statistics_that_are_kept_by_a_momentum_of_zero_are_let_be():
    model = with_norm(momentum=0)
    model[1].running_mean += torch.arange(8)
    assert found(model) == []


class Frozen(nn.Module):
    """A batch norm in eval mode, with new or trained statistics."""

    def __init__(self, *, is_trained):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)
        if is_trained:
            self.norm.running_mean += 1

    def forward(self, x):
        self.norm.eval()
        return self.last(torch.relu(self.norm(self.first(x))))


def test_a_batch_norm_in_eval_mode_with_new_statistics_is_a_note():
    assert found(Frozen(is_trained=False)) == [("batch_norm_statistics", "note", "norm")]
    assert found(Frozen(is_trained=True)) == []
    assert found(Frozen(is_trained=False), mode="eval") == []


class Masked(nn.Module):
    def __init__(self, mask, **options):
        super().__init__()
        self.score = nn.Linear(1, 1)
        self.mask = nn.Parameter(mask, **options)

    def forward(self, x):
        return (self.score(x[..., None]) + self.mask).softmax(-1) @ x[..., None]


CAUSAL = torch.full((4, 4), -1e9).triu(1)


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Masked(CAUSAL), True),
        (Masked(CAUSAL.T), True),
        (Masked(CAUSAL, requires_grad=False), False),
        (Masked(torch.randn(4, 4)), False),
        (Masked(torch.zeros(4, 4)), False),
        (Masked(CAUSAL + torch.eye(4)), False),
    ],
)
def test_a_mask_that_is_trained_is_found(model, is_found):
    assert found(model) == ([("trained_mask", "warning", "mask")] if is_found else [])


def constant(*layers, bias=0.0):
    for layer in layers:
        if isinstance(layer, nn.Linear | nn.Conv1d):
            nn.init.constant_(layer.weight, 0.1)
            layer.bias.data *= bias
    return nn.Sequential(*layers)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (constant(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), ["0"]),
        (constant(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), ["0"]),
        (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), []),
        # the layer behind, or what is dropped, tells the units apart
        (nn.Sequential(constant(nn.Linear(4, 8)), nn.ReLU(), nn.Linear(8, 2)), []),
        (constant(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1)), []),
        (constant(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), bias=1.0), []),  # other clips
        (constant(nn.Linear(4, 1)), []),
    ],
)
def test_units_that_stay_equal_are_found(model, targets):
    def loss(y):
        return (y * torch.arange(1, y.shape[1] + 1)).sum()

    torch.manual_seed(0)
    assert [target for _, _, target in found(model, loss=loss)] == targets


def test_parameters_that_do_not_exist_yet_are_let_be():
    model = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2))
    model.unused = nn.LazyLinear(3)
    assert found(model) == []


class FineTuned(nn.Module):
    """A frozen backbone with a batch norm, in the mode that a function chooses."""

    def __init__(self, prepare):
        super().__init__()
        self.body = with_norm()[:3]
        self.last = nn.Linear(8, 2)
        prepare(self)

    def forward(self, x):
        return self.last(self.body(x))


def freeze(model):
    model.body.requires_grad_(requires_grad=False)


def freeze_once(model):
    freeze(model)
    model.body.eval()


class StaysFrozen(FineTuned):
    def train(self, mode=True):  # as nn.Module has it
        super().train(mode)
        self.body[1].running_mean += 1  # trained
        self.body.eval()
        return self


def test_statistics_of_a_frozen_batch_norm_that_trains_are_a_note():
    report = hookcli.check(FineTuned(freeze_once), inputs=X)
    (row,) = [row for row in report.checks if row.rule == "batch_norm_statistics"]
    assert (row.severity, row.target) == ("note", "body.1")
    assert row.message.startswith("'body.1' was put in eval mode, and `train()` puts it back")
    report = hookcli.check(FineTuned(freeze), inputs=X)
    (row,) = [row for row in report.checks if row.rule == "batch_norm_statistics"]
    assert row.message.startswith("'body.1' is in train mode, but its weights are frozen")
    for model in (StaysFrozen(freeze_once), FineTuned(lambda _: None)):
        assert [target for _, _, target in found(model) if target.startswith("body")] == []


class Text(nn.Module):
    """An encoder of tokens with 0 for padding."""

    def __init__(self, mask=None, *, pad=0, fills=False):
        super().__init__()
        self.embedding = nn.Embedding(9, 8, padding_idx=pad)
        if fills:
            nn.init.normal_(self.embedding.weight)
        self.layer = nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0, batch_first=True)
        self.last, self.mask = nn.Linear(8, 2), mask

    def forward(self, ids):
        mask = None if self.mask is None else self.mask(ids)
        return self.last(self.layer(self.embedding(ids), src_key_padding_mask=mask)[:, 0])


IDS = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0], [7, 8, 1, 0]])


@pytest.mark.parametrize(
    ("model", "ids", "severity"),
    [
        (Text(lambda ids: ids != 0), IDS, "warning"),
        (Text(lambda ids: ids == 0), IDS, None),
        (Text(), IDS, None),
        (Text(fills=True), IDS, "note"),
        (Text(fills=True), IDS.clamp(min=1), None),  # no padding is in the batch
        (Text(fills=True, pad=None), IDS, None),
    ],
)
def test_padding_is_zero_and_hidden(model, ids, severity):
    report = hookcli.check(model, inputs=ids)
    rows = [row for row in report.checks if row.rule == "padding_tokens" and row.status == "fail"]
    assert [row.severity for row in rows] == ([severity] if severity else [])


class Attends(Text):
    """The same with the function for attention, whose masks are True at what is attended to."""

    def forward(self, ids):
        x = self.embedding(ids)[:, None]
        mask = self.mask(ids)[:, None, None]
        return self.last(F.scaled_dot_product_attention(x, x, x, attn_mask=mask)[:, 0, 0])


SHORT = torch.tensor([[1, 2, 3, 0], [5, 6, 0, 0], [7, 8, 1, 0]])


@pytest.mark.parametrize(
    ("mask", "is_found"),
    [
        (lambda ids: ids == 0, True),
        (lambda ids: torch.zeros(ids.shape).masked_fill(ids != 0, -1e9), True),
        (lambda ids: ids != 0, False),
        (lambda ids: torch.arange(4).expand(ids.shape) < 2, False),
    ],
)
def test_an_inverted_mask_of_the_function_for_attention_is_found(mask, is_found):
    report = hookcli.check(Attends(mask), inputs=SHORT)
    rows = [row for row in report.checks if row.rule == "padding_tokens" and row.status == "fail"]
    assert bool(rows) == is_found
    assert all(row.message.startswith("attn_mask of the model is inverted") for row in rows)


class Squeezed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.last = nn.Conv1d(4, 3, 1), nn.Linear(3, 2)


class OfAll(Squeezed):
    def forward(self, x):
        return self.last(self.conv(x[:, :, None]).squeeze())


class OfTheLast(Squeezed):
    def forward(self, x):
        return self.last(self.conv(x[:, :, None]).squeeze(-1))


@pytest.mark.parametrize(("kind", "is_found"), [(OfAll, True), (OfTheLast, False)])
def test_one_sample_keeps_its_dimension(kind, is_found):
    report = hookcli.check(kind(), inputs=X)
    rows = [row for row in report.checks if row.rule == "single_sample" and row.status == "fail"]
    assert [row.severity for row in rows] == (["note"] if is_found else [])
    if is_found:
        assert "has shape [2] instead of [1, 2]" in rows[0].message
        assert list(kind()(X[:1]).shape) == [2]


class Half(nn.Module):
    """Squares in half precision, which a clamp hides."""

    def __init__(self, scale):
        super().__init__()
        self.first, self.scale = nn.Linear(4, 8), scale

    def forward(self, x):
        half = (self.first(x) * self.scale).half()
        return (half * half).float().clamp(max=1e4)


@pytest.mark.parametrize(("scale", "is_found"), [(5000, True), (10, False)])
def test_an_overflow_inside_a_forward_is_found(scale, is_found):
    torch.manual_seed(0)
    report = hookcli.check(Half(scale), inputs=X)
    rows = [row for row in report.checks if row.rule == "half_overflow" and row.status == "fail"]
    assert [row.severity for row in rows] == (["warning"] if is_found else [])
    if is_found:
        assert rows[0].message.startswith("`mul` at ")
