"""Patterns in the graph of a loss: what is found, and what only looks like it."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
RULES = ("softmax_dimension", "normalizes_one_value", "linear_after_linear")


def found(model, inputs=X):
    report = hookcli.check(model, inputs=inputs)
    return [(row.rule, row.severity) for row in report.checks
            if row.status == "fail" and row.rule in RULES]  # fmt: skip


class Attention(nn.Module):
    """One function of queries, keys and values."""

    def __init__(self, function):
        super().__init__()
        self.qkv, self.function = nn.Linear(8, 24), function

    def forward(self, x):
        return self.function(*self.qkv(x).chunk(3, -1))


def heads(q, k, v, dim, drop=0.0):
    q, k, v = (z.view(2, 6, 2, 4).transpose(1, 2) for z in (q, k, v))
    weights = F.dropout((q @ k.transpose(-2, -1) / 2).softmax(dim), drop)
    return (weights @ v).transpose(1, 2).reshape(2, 6, 8)


def einsum(q, k, v, dim):
    weights = torch.einsum("bid,bjd->bij", q, k).softmax(dim)
    return torch.einsum("bij,bjd->bid", weights, v)


def slots(q, k, v):
    """Slot attention: a softmax over the queries, divided by the sum over the keys."""
    weights = (q @ k.transpose(1, 2)).softmax(1)
    return (weights / weights.sum(2, keepdim=True)) @ v


def assigned(q, k, v):
    """NetVLAD and DiffPool: a soft assignment of each position to a cluster."""
    return q.softmax(2).transpose(1, 2) @ v


def linear_attention(q, k, v):
    return q.softmax(-1) @ (k.softmax(1).transpose(1, 2) @ v)


def both_ways(q, k, v):
    """BiDAF: from keys to queries and back."""
    scores = q @ k.transpose(1, 2)
    return scores.softmax(2) @ scores.softmax(1).transpose(1, 2) @ v


def transposed(q, k, v):
    """SAGAN: the keys are in dimension 1."""
    return (v.transpose(1, 2) @ (k @ q.transpose(1, 2)).softmax(1)).transpose(1, 2)


@pytest.mark.parametrize(
    ("function", "dim"),
    [
        (lambda *x: heads(*x, 1), 3),  # the heads
        (lambda *x: heads(*x, 2), 3),  # the queries
        (lambda *x: heads(*x, 2, 0.5), 3),
        (lambda *x: einsum(*x, 1), 2),
    ],
)
def test_weights_that_do_not_sum_to_one_are_found(function, dim):
    assert found(Attention(function)) == [("softmax_dimension", "warning")]
    report = hookcli.check(Attention(function), inputs=X)
    assert f"sums over dimension {dim}: " in report.diagnoses[0].sentence


@pytest.mark.parametrize(
    "function",
    [
        lambda *x: heads(*x, 3), lambda *x: heads(*x, -1, 0.5), lambda *x: einsum(*x, 2), slots,
        assigned, linear_attention, both_ways, transposed, F.scaled_dot_product_attention,
    ],
)  # fmt: skip
def test_weights_that_sum_to_one_or_are_no_attention_pass(function):
    assert found(Attention(function)) == []


class Scores(nn.Module):
    """A softmax over the scores of some positions."""

    def __init__(self, count):
        super().__init__()
        self.score, self.last = nn.Linear(8, count), nn.Linear(8, 2)

    def forward(self, x):
        weights = self.score(x).softmax(-1)
        return self.last(weights.mean(-1, keepdim=True) * x)


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Scores(1), True),
        (Scores(2), False),
        (nn.Sequential(nn.Linear(8, 4), nn.Unflatten(2, (4, 1)), nn.LayerNorm(1)), True),
        (nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4)), False),
        (nn.Sequential(nn.Flatten(), nn.Linear(48, 4), nn.GroupNorm(4, 4)), True),
        (nn.Sequential(nn.Flatten(), nn.Linear(48, 4), nn.GroupNorm(2, 4)), False),
        (nn.Sequential(nn.Conv1d(6, 4, 3), nn.GroupNorm(4, 4)), False),
    ],
)
def test_a_norm_or_a_softmax_over_one_value_is_found(model, is_found):
    assert found(model) == ([("normalizes_one_value", "warning")] if is_found else [])


def test_what_follows_from_a_norm_over_one_value_is_one_diagnosis():
    model = nn.Sequential(nn.Linear(8, 4), nn.Unflatten(2, (4, 1)), nn.LayerNorm(1))
    report = hookcli.check(model, inputs=X)
    assert [row.cause for row in report.diagnoses] == ["normalizes_one_value"]


class Tail(nn.Module):
    """Two linear layers, and what else uses the values in between."""

    def __init__(self, hidden, between=nn.Identity(), keep=False, before=torch.relu):
        super().__init__()
        self.body, self.before = nn.Linear(8, 8), before
        self.first, self.second = nn.Linear(8, hidden), nn.Linear(hidden, 5)
        self.between, self.keep = between, keep

    def forward(self, x):
        y = self.between(self.first(self.before(self.body(x))))
        return self.second(y), y if self.keep else y.detach()


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Tail(16), True),
        (Tail(5), True),
        (Tail(4), False),  # a factorization
        (Tail(16, nn.ReLU()), False),
        (Tail(16, nn.Dropout(0.5)), False),
        (Tail(16, nn.LayerNorm(16)), False),
        (Tail(16, keep=True), False),
        (Tail(16, nn.ReLU(), before=lambda x: x), True),  # of the body and the first one
        (Tail(16, before=torch.cos), True),  # no activation at all
        (Tail(16, before=nn.LayerNorm(8)), True),
    ],
)
def test_a_linear_layer_behind_another_one_is_a_note(model, is_found):
    assert found(model) == ([("linear_after_linear", "note")] if is_found else [])


def row_of(*between, sizes=(8, 24, 16, 5)):
    """A layer with an activation, and linear layers with these modules in between."""
    last = [nn.Linear(*pair) for pair in itertools.pairwise(sizes)]
    layers = [one for pair in zip(last, between, strict=False) for one in pair]
    return nn.Sequential(nn.Flatten(0, 1), nn.Linear(8, 8), nn.ReLU(), *layers, last[-1])


class WithShortcut(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.ends = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 5)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.norms = nn.ModuleList(nn.BatchNorm1d(8) for _ in range(2))

    def forward(self, x):
        x = self.body(x)
        x = x + self.second(self.norms[0](self.first(x)))
        return self.ends(self.norms[1](x))


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (row_of(nn.BatchNorm1d(24), nn.BatchNorm1d(16)), True),
        (row_of(nn.BatchNorm1d(24), nn.Dropout(0.1)), True),
        (row_of(nn.Sequential(nn.BatchNorm1d(24), nn.Dropout(0.1)), nn.BatchNorm1d(16)), True),
        (row_of(nn.BatchNorm1d(24), nn.ReLU()), False),
        (row_of(nn.BatchNorm1d(24), nn.Sequential(nn.BatchNorm1d(16), nn.GELU())), False),
        (row_of(nn.LayerNorm(24), nn.LayerNorm(16)), False),  # its deviation is not linear
        (row_of(nn.BatchNorm1d(24), sizes=(8, 24, 5)), False),  # a head after a norm
        (row_of(nn.BatchNorm1d(3), nn.BatchNorm1d(16), sizes=(8, 3, 16, 5)), False),  # narrow
        (WithShortcut(), False),
    ],
)
def test_linear_layers_with_only_norms_in_between_are_a_note(model, is_found):
    flat = X.flatten(0, 1) if isinstance(model, WithShortcut) else X
    assert found(model, flat) == ([("linear_after_linear", "note")] if is_found else [])


class Contrast(nn.Module):
    """NT-Xent over two views of four samples."""

    def __init__(self, change=lambda sim: sim, *, is_cross=False):
        super().__init__()
        torch.manual_seed(0)
        self.net, self.change, self.is_cross = nn.Linear(8, 5), change, is_cross

    def forward(self, x, y):
        z = F.normalize(torch.cat([self.net(x), self.net(y)]), dim=1)
        if self.is_cross:  # CLIP: the positives are on the diagonal
            n = len(x)
            return {"loss": F.cross_entropy(z[:n] @ z[n:].T / 0.1, torch.arange(n))}
        targets = torch.arange(8).roll(4)
        return {"loss": F.cross_entropy(self.change(z @ z.T / 0.1), targets)}


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Contrast(), True),
        (Contrast(lambda sim: sim.masked_fill(torch.eye(8, dtype=torch.bool), -1e9)), False),
        (Contrast(lambda sim: sim - torch.eye(8) * 1e9), False),
        (Contrast(is_cross=True), False),
    ],
)
def test_a_sample_that_is_its_own_negative_is_found(model, is_found):
    report = hookcli.check(model, inputs=(X[0, :4], X[1, :4]))
    causes = [row.cause for row in report.diagnoses if row.cause == "self_similarity"]
    assert causes == (["self_similarity"] if is_found else [])


@pytest.mark.parametrize(
    ("masked", "is_found"),
    [
        (lambda s, m: s.softmax(-1).masked_fill(~m, 0), True),
        (lambda s, m: s.softmax(-1) * m, True),
        (lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1), False),
        (lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1).masked_fill(~m, 0), False),
        (lambda s, m: F.normalize(s.softmax(-1) * m, p=1, dim=-1), False),
        (lambda s, m: F.dropout(s.softmax(-1), 0.2), False),
    ],
)
def test_a_mask_after_the_softmax_is_found(masked, is_found):
    mask = torch.ones(6, 6).tril().bool()

    def function(q, k, v):
        return masked(q @ k.transpose(1, 2), mask) @ v

    assert found(Attention(function)) == ([("softmax_dimension", "warning")] if is_found else [])


class Block(nn.Module):
    """A residual block of one function of its input."""

    def __init__(self, function, inplace):
        super().__init__()
        self.relu, self.fc = nn.ReLU(inplace=inplace), nn.Linear(8, 8)
        self.inner = nn.Sequential(nn.ReLU(inplace=inplace), nn.Linear(8, 8))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def doubled(block, x):
    x = block.fc(x)
    return x + x


@pytest.mark.parametrize(
    ("function", "inplace", "kind"),
    [
        (doubled, False, "itself"),
        (lambda b, x: b.fc(x) + x, False, None),
        (lambda b, x: 2 * b.fc(x), False, None),
        (lambda b, x: b.inner(x) + x, True, "in place"),
        (lambda b, x: b.fc(b.relu(x)) + x, True, "in place"),
        (lambda b, x: b.inner(x) + x, False, None),
        (lambda b, x: b.inner(b.fc(x)) + x, True, None),
        (lambda b, x: b.relu(b.fc(x) + x), True, None),
    ],
)
def test_a_shortcut_has_the_input_of_its_block(function, inplace, kind):
    model = nn.Sequential(nn.Linear(8, 8), Block(function, inplace))
    report = hookcli.check(model, inputs=X)
    rows = [row for row in report.checks if row.status == "fail" and row.rule == "shortcuts"]
    assert [row.severity for row in rows] == (["note"] if kind else [])
    assert all(kind in row.message for row in rows)


class LayerNorm(nn.Module):
    """A layer norm by hand, over a dimension."""

    def __init__(self, dim, features):
        super().__init__()
        self.gain, self.shift = (
            nn.Parameter(torch.ones(features)),
            nn.Parameter(torch.zeros(features)),
        )
        self.dim = dim

    def forward(self, x):
        apart = x - x.mean(self.dim, keepdim=True)
        gain, shift = self.gain, self.shift
        if self.dim == 1 and len(gain) == x.shape[1]:
            gain, shift = gain[:, None], shift[:, None]  # channels first
        return apart / (x.std(self.dim, keepdim=True) + 1e-3) * gain + shift


class SequenceNorm(nn.Module):
    def __init__(self, size, *, turned):
        super().__init__()
        self.first, self.norm, self.turned = nn.Linear(8, 8), nn.BatchNorm1d(size), turned

    def forward(self, x):
        x = self.first(x).relu()
        return self.norm(x.transpose(1, 2)).transpose(1, 2) if self.turned else self.norm(x)


@pytest.mark.parametrize(
    ("model", "severity"),
    [
        (nn.Sequential(nn.Linear(8, 8), LayerNorm(1, 8)), "warning"),
        (nn.Sequential(nn.Linear(8, 8), LayerNorm(-1, 8)), None),
        (nn.Sequential(nn.Conv1d(6, 4, 1), LayerNorm(1, 4)), None),
        (SequenceNorm(6, turned=False), "note"),
        (SequenceNorm(8, turned=True), None),
        (nn.Sequential(nn.Conv1d(6, 4, 1), nn.BatchNorm1d(4)), None),
    ],
)
def test_a_norm_is_over_the_features(model, severity):
    report = hookcli.check(model, inputs=X)
    rows = [row for row in report.checks if row.status == "fail" and row.rule == "norm_dimension"]
    assert [row.severity for row in rows] == ([severity] if severity else [])
