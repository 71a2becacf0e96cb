"""MACs against formulas worked out by hand; FLOPs are twice as many."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from hookcli.models.batch import Batch
from tests.conftest import HEAD, attempt
from tests.odd_models import ODD
from tests.torch_version import needs_torch

B, T, E = 2, 5, 8


class Runs(nn.Module):
    def __init__(self, function, *modules):
        super().__init__()
        self.function = [function]
        self.modules_ = nn.ModuleList(modules)

    def forward(self, *args):
        return self.function[0](*args)


def ids(*shape):
    return torch.zeros(shape, dtype=torch.long)


def r(*shape):
    return torch.randn(shape)


# module, arguments, MACs by hand
CASES = {
    "linear": (nn.Linear(3, 7), (r(B, 3),), B * 3 * 7),
    "linear of rank 3": (nn.Linear(3, 7), (r(B, T, 3),), B * T * 3 * 7),
    "linear of rank 5": (nn.Linear(3, 7, bias=False), (r(2, 3, 4, 5, 3),), 120 * 21),
    "linear of rank 1": (nn.Linear(3, 7), (r(3),), 21),
    "conv1d": (nn.Conv1d(4, 6, 3), (r(B, 4, 10),), B * 8 * 6 * 4 * 3),
    "conv2d": (nn.Conv2d(4, 6, 3, padding=1), (r(B, 4, 5, 7),), B * 35 * 6 * 4 * 9),
    "grouped": (nn.Conv2d(4, 6, 3, groups=2), (r(B, 4, 5, 7),), B * 15 * 6 * 2 * 9),
    "depthwise": (nn.Conv2d(4, 4, 3, groups=4), (r(B, 4, 5, 7),), B * 15 * 4 * 9),
    "dilated": (nn.Conv2d(4, 6, 3, dilation=2), (r(B, 4, 9, 9),), B * 25 * 6 * 4 * 9),
    "strided": (nn.Conv2d(4, 6, 3, 2), (r(B, 4, 9, 9),), B * 16 * 6 * 4 * 9),
    "conv3d": (nn.Conv3d(2, 3, 2), (r(B, 2, 4, 4, 4),), B * 27 * 3 * 2 * 8),
    # Each input element meets the whole kernel.
    "transposed": (nn.ConvTranspose2d(4, 6, 3, 2), (r(B, 4, 5, 5),), B * 25 * 4 * 6 * 9),
    "transposed, grouped": (
        nn.ConvTranspose2d(4, 6, 3, groups=2), (r(B, 4, 5, 5),), B * 25 * 4 * 3 * 9,
    ),
    "matmul": (Runs(torch.matmul), (r(3, 4), r(4, 5)), 60),
    "matmul, batched": (Runs(torch.matmul), (r(2, 6, 3, 4), r(2, 6, 4, 5)), 12 * 60),
    "matmul, broadcast": (Runs(torch.matmul), (r(6, 3, 4), r(4, 5)), 6 * 60),
    "mv": (Runs(torch.mv), (r(3, 4), r(4)), 12),
    "dot": (Runs(torch.dot), (r(9), r(9)), 9),
    "bmm": (Runs(torch.bmm), (r(7, 3, 4), r(7, 4, 5)), 7 * 60),
    "baddbmm": (Runs(torch.baddbmm), (r(7, 3, 5), r(7, 3, 4), r(7, 4, 5)), 7 * 60),
    "addbmm": (Runs(torch.addbmm), (r(3, 5), r(7, 3, 4), r(7, 4, 5)), 7 * 60),
    "einsum": (
        Runs(lambda a, b: torch.einsum("bhqd,bhkd->bhqk", a, b)), (r(2, 3, 4, 6), r(2, 3, 5, 6)),
        2 * 3 * 4 * 5 * 6,
    ),
    # Four gates; the input's and the state's products at every step.
    "lstm": (nn.LSTM(3, 5, batch_first=True), (r(B, T, 3),), B * T * 4 * 5 * (3 + 5)),
    "lstm, two layers, both directions": (
        nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True), (r(B, T, 3),),
        B * T * 2 * (4 * 5 * (3 + 5) + 4 * 5 * (10 + 5)),
    ),
    "gru": (nn.GRU(3, 5), (r(T, B, 3),), B * T * 3 * 5 * (3 + 5)),
    "rnn": (nn.RNN(3, 5), (r(T, B, 3),), B * T * 5 * (3 + 5)),
    "lstm cell": (nn.LSTMCell(3, 5), (r(B, 3),), B * 4 * 5 * (3 + 5)),
    "gru cell": (nn.GRUCell(3, 5), (r(B, 3),), B * 3 * 5 * (3 + 5)),
    # Three projections in, scores, their product with the values, one projection out.
    "self attention": (
        Runs(None, nn.MultiheadAttention(E, 2, batch_first=True)), (r(B, T, E),),
        B * T * E * E * 3 + 2 * B * T * T * E + B * T * E * E,
    ),
    "grouped heads": (
        Runs(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True)),
        (r(B, 4, 6, E), r(B, 2, 7, E)), 2 * B * 4 * 6 * 7 * E,
    ),
    "embedding": (nn.Embedding(10, 4), (ids(B, T),), 0),
    "embedding bag": (nn.EmbeddingBag(10, 4), (ids(B, T),), B * T * 4),
    "bilinear": (nn.Bilinear(3, 4, 5), (r(B, 3), r(B, 4)), B * 3 * 4 * 5),
    "elementwise": (nn.Sequential(nn.ReLU(), nn.LayerNorm(4), nn.Softmax(-1)), (r(B, 4),), 0),
}  # fmt: skip
CASES["self attention"][0].function = [lambda x: CASES["self attention"][0].modules_[0](x, x, x)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("grad", [True, False])
def test_macs_equal_the_formula(name, mode, grad):
    model, args, macs = CASES[name]
    report = hookcli.inspect(model, Batch(args), mode=mode, grad=grad)
    assert report.error is None, report.error
    assert report.totals.macs == macs
    assert report.totals.flops == 2 * macs
    assert sum(row.macs for row in report.layers) == macs


def test_a_fused_encoder_layer_costs_what_its_parts_do():
    """Observed, it leaves its fused path; the fused operator's formula agrees with the parts."""
    layer = nn.TransformerEncoderLayer(E, 2, 16, batch_first=True).eval()
    parts = hookcli.inspect(layer, r(B, T, E)).totals.flops
    from hookcli.engine.cost.flops import OperatorCounter
    from hookcli.report.recording import CallNote

    note = CallNote(0, 0, "", "", None, 0, None, 0, False, None, False, [])
    with torch.no_grad(), OperatorCounter(lambda: note):
        layer(r(B, T, E))
    assert note.flops == parts
    assert parts == 2 * (B * T * E * E * 4 + 2 * B * T * T * E + 2 * B * T * E * 16)


def test_fake_and_real_runs_cost_the_same(tmp_path):
    (tmp_path / "net.py").write_text(
        HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.LSTM(4, 6, batch_first=True)\n        self.b = nn.Conv1d(6, 2, 3)\n"
        "    def forward(self, x):\n        return self.b(self.a(x)[0].transpose(1, 2))\n"
    )  # fmt: skip
    macs = {attempt(tmp_path / "net.py", "2x9x4", tensors=t).totals.macs for t in ("fake", "real")}
    assert macs == {2 * 9 * 4 * 6 * (4 + 6) + 2 * 7 * 2 * 6 * 3}


@needs_torch("2.10", "grouped_mm on the CPU")
def test_grouped_matrices_of_experts():
    ends = torch.tensor([16, 32], dtype=torch.int32)
    model = Runs(lambda a, b: torch._grouped_mm(a, b, offs=ends))
    batch = Batch((r(32, 16).bfloat16(), r(2, 16, 24).bfloat16()))
    report = hookcli.inspect(model, batch)
    assert report.error is None, report.error
    assert report.totals.macs == 32 * 16 * 24


def test_a_module_with_two_parents_costs_where_it_runs():
    shared = nn.Linear(3, 3)
    model = nn.Sequential(nn.Sequential(shared), nn.Sequential(shared, shared))
    report = hookcli.inspect(model, r(B, 3))
    assert [row.macs for row in report.layers if row.type == "Linear"] == [B * 9] * 3
    assert report.totals.macs == 3 * B * 9


def test_what_runs_outside_a_layer_is_its_caller_s():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 4)

        def forward(self, x):
            return self.a(x) @ torch.ones(4, 5)

    rows = hookcli.inspect(Net(), r(B, 3)).layers
    assert [row.macs for row in rows] == [B * 4 * 5, B * 3 * 4]


def test_an_operator_without_a_formula_is_unknown_and_never_free():
    report = hookcli.inspect(Runs(torch.fft.fft), r(8))
    assert report.totals.flops is None
    assert report.layers[0].flops is None
    assert report.layers[0].notes == ("FLOPs are incomplete: no formula for aten._fft_r2c",)
    assert report.warnings == ("FLOPs are incomplete: no formula for aten._fft_r2c",)
    both = hookcli.inspect(Runs(lambda x: torch.linalg.inv(x @ x)), r(3, 3))
    assert both.totals.macs == 27
    assert "no formula for aten.linalg_inv_ex" in both.warnings[0]


def test_a_custom_operator_is_unknown():
    with torch.library._scoped_library("hookcli_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        report = hookcli.inspect(Runs(torch.ops.hookcli_test.twice), r(3))
    assert report.totals.flops is None
    assert "hookcli_test.twice" in report.warnings[0]


def test_each_storage_is_one_activation():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Flatten(0)
            self.same = nn.Identity()

        def forward(self, x):
            return self.c(self.b(self.a(self.same(x))))

    report = hookcli.inspect(Net(), r(B, 3))
    sizes = {row.name: row.activation_bytes for row in report.layers}
    assert sizes == {"": 0, "same": 0, "a": B * 4 * 4, "b": 0, "c": 0}
    assert report.totals.activation_bytes == B * 4 * 4


@pytest.mark.parametrize(
    "name", ["attn_multihead", "seq_lstm_projected", "vision_odd_convolutions"]
)
def test_odd_models_are_counted_as_plain_torch_counts(name):
    from torch.utils.flop_counter import FlopCounterMode

    model = ODD[name].build().eval()
    args, kwargs = ODD[name].batch()
    with FlopCounterMode(display=False) as counter:
        model(*args, **kwargs)
    assert hookcli.inspect(model, Batch(args, kwargs)).totals.flops >= counter.get_total_flops()
