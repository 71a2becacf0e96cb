"""The samples' own expectations, worked out by hand in each file."""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch

from tests.conftest import SAMPLES, attempt, run_cli

NAMES = sorted(path.stem for path in SAMPLES.glob("*.py"))
DATA_DEPENDENT = {"moe", "lstm_tagger"}


def expected(name):
    spec = importlib.util.spec_from_file_location(f"sample_{name}", SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.EXPECTED


def agrees(got, want):
    """Paths and shapes agree; None in the expectation is a data-dependent size."""
    return len(got) == len(want) and all(
        leaf.path == path
        and len(leaf.shape) == len(shape)
        and all(b is None or a == b for a, b in zip(leaf.shape, shape, strict=True))
        for leaf, (path, shape) in zip(got, want, strict=True)
    )


def check(report, want):
    assert report.model.type == want["type"]
    assert report.model.parameters == want["parameters"] == report.totals.parameters
    assert report.model.trainable_parameters == want["trainable_parameters"]
    assert len(report.buffers) == want["buffers"]
    assert [row.name for row in report.uncalled] == want["uncalled"]
    shared = {row.name: list(row.shared_with) for row in report.parameters if row.shared_with}
    assert shared == want["shared"]
    rows = [(row.name, row.type, row.call, row.own_parameters) for row in report.layers]
    assert rows == [call[:4] for call in want["calls"]]
    for row, (_, _, _, _, inputs, outputs) in zip(report.layers, want["calls"], strict=True):
        assert agrees(row.inputs, inputs), (row.name, row.inputs, inputs)
        assert agrees(row.outputs, outputs), (row.name, row.outputs, outputs)
    assert [row.order for row in report.layers] == list(range(len(rows)))
    assert report.totals.calls == len(rows)


@pytest.mark.parametrize("name", NAMES)
def test_real_run_gives_what_was_worked_out_by_hand(name):
    report = attempt(SAMPLES / f"{name}.py", tensors="real")
    assert report.status == "complete"
    assert report.inputs.origin == "declared"
    check(report, expected(name))


@pytest.mark.parametrize("name", sorted(set(NAMES) - DATA_DEPENDENT))
def test_fake_run_gives_what_was_worked_out_by_hand(name):
    report = attempt(SAMPLES / f"{name}.py", tensors="fake")
    assert report.run.tensors == "fake"
    check(report, expected(name))


@pytest.mark.parametrize("name", sorted(DATA_DEPENDENT))
def test_data_dependent_samples_fall_back_to_real_tensors_and_say_why(name):
    result = run_cli("inspect", SAMPLES / f"{name}.py", "-f", "json")
    assert result.status == 0
    assert result.report["run"]["tensors"] == "real"
    assert "DynamicOutputShapeException" in result.report["run"]["fallback"]
    assert f"{name}.py:" in result.report["run"]["fallback"]


@pytest.mark.parametrize("name", NAMES)
def test_the_parents_call_their_children(name):
    report = attempt(SAMPLES / f"{name}.py", tensors="real")
    assert report.layers[0].parent is None
    depths = {row.order: row.depth for row in report.layers}
    for row in report.layers[1:]:
        assert row.parent is not None
        assert row.parent < row.order
        assert row.depth == depths[row.parent] + 1


@pytest.mark.parametrize("name", NAMES)
def test_samples_train_in_plain_pytorch(name):
    """Each is a real model: a step of SGD changes its parameters."""
    spec = importlib.util.spec_from_file_location(f"train_{name}", SAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    model = getattr(module, module.EXPECTED["type"])()
    batch = module.example_inputs()
    output = model(**batch) if isinstance(batch, dict) else model(*batch)
    from tests.truth import tensors

    loss = sum(t.float().pow(2).mean() for t in tensors(output) if t.requires_grad)
    loss.backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
