"""`range_headroom` and `poor_initialization` against figures of plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli

BATCH = torch.linspace(-2, 2, 16 * 8).view(16, 8).sin()


def judged(model, rule, batch=BATCH, loss="probe", **options):
    config = {"checks": [{"rule": rule, **options}]}
    report = hookcli.check(model, config, inputs=batch, loss=loss)
    return [row for row in report.checks if row.rule == rule]


def net(scale=1.0):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    model[2].weight.data.mul_(scale)
    return model


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("scale", [1.0, 1e5, 1e6])
def test_the_largest_output_is_held_against_the_dtype(dtype, scale):
    model = net(scale)
    most = model(BATCH).abs().max().item() / torch.finfo(getattr(torch, dtype)).max
    rows = judged(model, "range_headroom", dtype=dtype)
    found = [row for row in rows if row.status == "fail" and row.target == "2"]
    assert bool(found) is (most > 0.1)
    if found:
        assert found[0].value == pytest.approx(most, rel=1e-3)


def test_values_below_the_smallest_normal_are_counted():
    model = net(1e-6)
    rows = judged(model, "range_headroom")
    weight = model[2].weight.detach()
    share = (weight.abs() < torch.finfo(torch.float16).tiny).float().mean().item()
    [row] = [row for row in rows if row.target == "2.weight"]
    assert (row.value, row.limit) == (pytest.approx(share, abs=1e-4), 0.1)
    assert f"underflows: {int(share * 128)} of 128 values" in row.message


@pytest.mark.parametrize(("scale", "fails"), [(1, True), (2**16, False)])
def test_gradients_are_judged_with_a_loss_and_its_scale(scale, fails):
    model = net()

    def small(y):
        return 1e-5 * y.square().mean()

    small(model(BATCH)).backward()
    tiny = torch.finfo(torch.float16).tiny / scale
    grads = [p.grad.abs() for p in model.parameters() if p.numel() >= 32]
    share = max((grad < tiny).float().mean().item() for grad in grads)
    model.zero_grad()
    rows = judged(model, "range_headroom", loss=small, loss_scale=scale)
    kinds = [row.message.split(" of ")[0] for row in rows if row.status == "fail"]
    assert ("the gradient" in kinds) is fails is (share > 0.1)
    assert all("gradient" not in row.message for row in judged(net(1e-12), "range_headroom"))


def test_a_dtype_without_a_fraction_is_an_error_of_the_check():
    [row] = judged(net(), "range_headroom", dtype="int8")
    assert (row.status, row.message) == (
        "error", "range_headroom cannot judge int8: it requires a floating dtype",
    )  # fmt: skip


def deep(gain, normed=False):
    torch.manual_seed(0)
    layers = []
    for _ in range(12):
        layers += [
            nn.Linear(64, 64, bias=False),
            *([nn.LayerNorm(64)] if normed else []),
            nn.ReLU(),
        ]
        nn.init.normal_(layers[-3 if normed else -2].weight, std=gain / 8)
    return nn.Sequential(*layers)


@pytest.mark.parametrize(
    ("gain", "normed", "verb"),
    [(2**0.5, False, None), (0.5, False, "fall"), (4.0, False, "grow"), (0.5, True, None)],
)
def test_the_spread_over_depth(gain, normed, verb):
    model, batch = deep(gain, normed), torch.randn(32, 64)
    rows = judged(model, "poor_initialization", batch)
    assert [row.status for row in rows] == ["fail" if verb else "pass"]
    if verb:
        spreads = []
        with torch.no_grad():
            for layer in model:
                batch = layer(batch)
                if isinstance(layer, nn.Linear):
                    spreads.append(batch.std().item())
        factor = (spreads[-1] / spreads[0]) ** (1 / 11)
        [row] = rows
        assert f"{spreads[0]:.2g} at '0' and {spreads[-1]:.2g} at '22'" in row.message
        assert f"activations {verb} by a factor of {factor:.2g} per layer" in row.message
