"""FLOPs of backward, measured: against formulas worked out by hand and torch's own counter."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from hookcli.api.live import run_live
from hookcli.spec.request import ModelSpec, RunSpec, Spec

COUNTED = Spec("grads", ModelSpec("x"), run=RunSpec(flops=True))


def backward(model, *batch):
    """(total, by layer) of the backward that ran."""
    report = run_live(model, batch, COUNTED)
    assert report.error is None
    rows = {m.target: m.value for m in report.measurements if m.probe == "backward_flops"}
    (total,) = (m.value for m in report.measurements if m.probe == "backward_flops_total")
    return total, rows


def test_a_first_layer_has_no_input_gradient_to_compute():
    # 2·2·8·3 for the weight; the batch does not require grad
    assert backward(nn.Linear(8, 3), torch.randn(2, 8)) == (96, {"": 96})


def test_a_later_layer_computes_both_gradients():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    first, last = 2 * 2 * 8 * 8, 2 * (2 * 2 * 8 * 3)
    assert backward(model, torch.randn(2, 8)) == (first + last, {"0": first, "2": last})


def test_a_frozen_layer_passes_the_gradient_on_alone():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 5))
    model[1].requires_grad_(False)
    assert backward(model, torch.randn(2, 4))[1] == {"0": 2 * 2 * 4 * 4, "1": 2 * 2 * 4 * 5}


def test_an_lstm_s_backward_is_both_products_twice():
    model, x = nn.LSTM(8, 6), torch.randn(4, 2, 8)
    forward = 2 * 4 * 2 * (4 * 6 * 8 + 4 * 6 * 6)
    assert backward(model, x)[0] == 2 * forward


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(2, 3, 4, 8))

    def forward(self, k, v):
        return scaled_dot_product_attention(self.q, k, v)


def test_attention_s_backward_recomputes_the_scores():
    k, v = torch.randn(2, 3, 5, 8, requires_grad=True), torch.randn(2, 3, 5, 8, requires_grad=True)
    product = 2 * (2 * 3) * 4 * 5 * 8
    assert backward(Attention(), k, v)[0] == 5 * product


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Conv1d(4, 6, 3, groups=2), (2, 4, 9)),
        (
            nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, groups=4, dilation=2)),
            (2, 3, 16, 16),
        ),
        (nn.Sequential(nn.Conv2d(3, 4, 1), nn.ConvTranspose2d(4, 2, 2, stride=2)), (1, 3, 5, 5)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 4, 8)),
        (nn.GRU(8, 6), (4, 2, 8)),
        (nn.RNN(8, 6, num_layers=2), (4, 2, 8)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_what_torch_s_counter_knows_comes_to_the_same(model, shape):
    x = torch.randn(shape)

    def run(*, with_backward):
        with FlopCounterMode(display=False) as counter:
            out = model(x)
            if with_backward:
                (out[0] if isinstance(out, tuple) else out).sum().backward()
        return counter.get_total_flops()

    assert backward(model, x)[0] == run(with_backward=True) - run(with_backward=False)


def test_the_forward_s_figures_stay_those_of_the_forward():
    report = run_live(nn.Linear(8, 3), (torch.randn(2, 8),), COUNTED)
    assert (report.totals.macs, report.totals.flops) == (48, 96)


def test_nothing_is_counted_unasked():
    report = run_live(nn.Linear(8, 3), (torch.randn(2, 8),), Spec("grads", ModelSpec("x")))
    assert report.totals.flops is None
    assert all(row.flops is None for row in report.layers)
    assert not [m for m in report.measurements if m.probe.startswith("backward")]
