"""Results and inputs that are nested 1,000 deep, which recursive functions cannot walk."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple

import pytest
import torch
from torch import nn

import hookcli
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.models.nested import leaves, map_tensors
from hookcli.report.schema import from_json

LEVELS = 1_000
Named = namedtuple("Named", "inner")  # without types, as in old code


@dataclasses.dataclass
class Box:
    inner: object


WRAPPERS = {
    "tuple": (lambda value: (value,), "[0]"),
    "list": (lambda value: [value], "[0]"),
    "dict": (lambda value: {"key": value}, ".key"),
    "mapping": (lambda value: OrderedDict(key=value), ".key"),
    "dataclass": (Box, ".inner"),
    "named tuple": (Named, ".inner"),
}


def nested(kind, value, levels=LEVELS):
    for _ in range(levels):
        value = WRAPPERS[kind][0](value)
    return value


def innermost(value):
    while not isinstance(value, torch.Tensor):
        value = (
            value.inner
            if isinstance(value, (Box, Named))
            else next(iter(value.values() if isinstance(value, dict) else value))
        )
    return value


class Deep(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.fc = kind, nn.Linear(3, 2)

    def forward(self, value):
        return nested(self.kind, self.fc(innermost(value)))


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_tensor_nested_1000_deep_is_found_and_replaced(kind):
    tensor = torch.ones(2)
    value = nested(kind, tensor)
    ((path, found, _),) = leaves(value)
    assert path == WRAPPERS[kind][1] * LEVELS
    assert found is tensor
    doubled = map_tensors(value, lambda t: t * 2)
    assert type(doubled) is type(value)
    assert innermost(doubled).tolist() == [2, 2]
    assert innermost(value).tolist() == [1, 1]


def test_levels_have_a_limit_so_that_a_hostile_value_costs_little():
    assert leaves(nested("tuple", torch.ones(1), 5_000)) == []
    wide = [nested("tuple", torch.ones(1), 49) for _ in range(300)]
    found = leaves([*wide, (torch.ones(1),)])
    assert len(found) == 2_000 // (49 - 24) + 1  # 24 levels are not deep, nor is the last one
    assert found[-1][0] == "[300][0]"


@pytest.mark.parametrize("kind", ["tuple", "dict", "dataclass"])
def test_a_model_with_deep_inputs_and_outputs_runs_and_its_report_is_read_and_shown(kind):
    model = Deep(kind)
    batch = (nested(kind, torch.randn(4, 3)),)
    report = hookcli.grads(model, batch)
    assert report.error is None
    assert [row.status for row in report.parameters] == ["ok", "ok"]
    (output,) = report.layers[0].outputs
    assert (output.shape, output.path) == ((4, 2), WRAPPERS[kind][1] * LEVELS)
    (source,) = (row for row in report.edges if row.target == 1)
    assert (source.source, source.input) == (None, "[0]")
    text = report.to_json()
    assert from_json(text, strict=True).layers == report.layers
    for name in ("table", "tree", "markdown", "html", "svg"):
        assert FORMATS[name].render(report, View())


def test_hooks_change_a_value_that_is_nested_1000_deep(tmp_path):
    config = tmp_path / "hooks.yaml"
    config.write_text("hooks:\n  - {kind: forward, at: '', do: [{scale: 3}]}\n")
    model = Deep("tuple")
    x = torch.randn(2, 3)
    with hookcli.attach(model, config):
        changed = innermost(model(x))
    assert torch.equal(changed, 3 * model.fc(x))
