"""`module_type` and its probe, held against the attributes of torch's own modules."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from hookcli.engine.probes.module_settings import described
from hookcli.report.findings import Measurement
from hookcli.rules.module_type import RULE
from tests.conftest import HEAD, run_cli
from tests.formats.fabricate import report
from tests.snapshot.making import Taken


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.sizes, self.flag = 0.5, (2, 3), True
        self.path, self.nothing, self.key = "/home/me", None, id(self)
        self.function, self.tensor, self.many = torch.sin, torch.ones(2), list(range(9))
        self.infinite = -math.inf
        self.inner = nn.Linear(2, 2)
        self._hidden = 3


@pytest.mark.parametrize(
    ("module", "type_", "settings"),
    [
        (nn.Dropout(0.3), "Dropout", {"p": 0.3, "inplace": False}),
        (nn.GELU("tanh"), "GELU", {"approximate": "tanh"}),
        (
            nn.LayerNorm((4, 2), eps=1e-3),
            "LayerNorm",
            {"normalized_shape": [4, 2], "eps": 1e-3, "elementwise_affine": True},
        ),
        (
            Own(),
            "Own",
            {"scale": 0.5, "sizes": [2, 3], "flag": True, "infinite": "-inf"},
        ),
        (torch.jit.script(nn.GELU()), "GELU", {}),
        (nn.Sequential(nn.ReLU()), "Sequential", {}),
    ],
)
def test_settings_are_the_plain_values_of_a_module(module, type_, settings):
    assert described(module) == {"type": type_, "settings": settings}


def test_a_function_of_a_module_of_torch_is_named():
    layer = nn.TransformerEncoderLayer(4, 1, 4, activation="gelu")
    assert described(layer)["settings"]["activation"] == "gelu"


def judged(measured, **options):
    rows = tuple(
        Measurement("module_settings", name, None, {"type": kind, "settings": settings}, None)
        for name, (kind, settings) in measured.items()
    )
    filled = {"at": "", "settings": None} | options
    return [
        (one.status, one.target, one.message)
        for one in RULE.judge(report("check", measurements=rows), filled)
    ]


MODULES = {"": ("Net", {}), "a": ("ReLU", {"inplace": False}), "b": ("Dropout", {"p": 0.5})}


def test_another_type_and_other_settings_are_found():
    wrong = judged(MODULES, at="a", type="GELU", settings={"approximate": "none"})
    assert wrong == [("fail", "a", "a (ReLU) must be of type GELU")]
    wrong = judged(MODULES, at="b", type="Dropout", settings={"p": 0.1, "inplace": False})
    assert wrong == [
        ("fail", "b", "p of b (Dropout) is 0.5, expected 0.1"),
        ("fail", "b", "inplace of b (Dropout) is not set, expected False"),
    ]
    assert judged(MODULES, type="Other") == [("fail", "", "the model (Net) must be of type Other")]


@pytest.mark.parametrize(
    ("value", "expected", "equal"),
    [(1, 1.0, True), (1, True, False), (0, False, False), ([1, [2]], (1, (2,)), True),
     ([1], [1, 2], False), ("a", "a", True), (None, None, True), (None, 0, False)],
)  # fmt: skip
def test_settings_are_compared_as_plain_values(value, expected, equal):
    modules = {"a": ("Own", {"v": value})}
    (one,) = judged(modules, at="a", type="Own", settings={"v": expected})
    assert (one[0] == "pass") is equal


def test_what_is_not_there_is_told():
    assert judged(MODULES, at="zz", type="ReLU")[0][::2] == ("error", "no module matches 'zz'")
    assert judged({}, type="ReLU")[0][0] == "skip"
    passed = judged(MODULES, at="b", type="Dropout", settings={"p": 0.5})
    assert passed == [("pass", "", "1 module of type Dropout with 1 setting")]


def test_a_snapshot_notices_a_relu_in_the_place_of_a_gelu(tmp_path):
    taken = Taken(
        tmp_path,
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.act = nn.Linear(3, 3), nn.GELU()\n"
        "        self.norm = nn.LayerNorm(3, eps=1e-12)\n"
        "    def forward(self, x):\n        return self.norm(self.act(self.a(x)))\n",
    )
    assert taken.check().status == 0
    result = taken.check(("nn.GELU()", "nn.ReLU()"), ("eps=1e-12", "eps=1e-5"))
    assert result.status == 1
    assert "act (ReLU) must be of type GELU" in result.out
    line = next(i for i, text in enumerate(result.out.splitlines()) if "must be of type" in text)
    source = (tmp_path / "net.py").read_text().splitlines()
    number = next(i for i, text in enumerate(source, 1) if "nn.ReLU()" in text)
    assert result.out.splitlines()[line + 1].endswith(f"net.py:{number}")  # of the constructor
    assert "eps of norm (LayerNorm) is 1e-05, expected 1e-12" in result.out


def test_a_setting_that_is_no_plain_value_is_refused(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + "net = nn.ReLU()\n")
    (tmp_path / "c.yaml").write_text(
        "model: net.py:net\nchecks:\n- {rule: module_type, type: ReLU, settings: {a: {b: 1}}}\n"
    )
    result = run_cli("check", "-c", "c.yaml", cwd=tmp_path)
    assert result.status == 2
    assert "'a' must be a number, a string, null or a list" in result.err
