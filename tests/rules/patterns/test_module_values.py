"""Batch norms, masks and initial weights that are seldom meant, and what only looks like them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

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
        ({"momentum": 1.0, "track_running_stats": False}, False),
    ],
)  # fmt: skip
def test_statistics_of_the_last_batch_are_found(options, is_found):
    expected = [("batch_norm_statistics", "warning", "1")] if is_found else []
    assert found(with_norm(**options)) == expected


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
