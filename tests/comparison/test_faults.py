"""Twenty planted faults, each found at its call; and the same models without one."""

from __future__ import annotations

import json

import pytest
import torch

import hookcli
from hookcli.inputs.materialise import given_batch
from hookcli.spec.inputs import parse_inputs
from tests.comparison.models import BATCHES, BUILD, FAULTS
from tests.conftest import ROOT, run_cli

FILE = ROOT / "tests" / "comparison" / "models.py"
QUICK = [
    ("conv", "residual"),
    ("transformer", "activation"),
    ("lstm", "weight"),
    ("mlp", "epsilon"),
]


def built(name, fault=None):
    torch.manual_seed(3)
    return BUILD[name](fault).eval()


def batch(name):
    torch.manual_seed(5)
    specs = parse_inputs((BATCHES[name],))
    return given_batch(specs, floating=torch.float32, device="cpu", call=None)


def where(diff):
    """Where the fault is said to be."""
    first = diff.first
    return first.fault, (first.within or first.a).name


@pytest.mark.parametrize(("model", "fault"), list(FAULTS))
def test_a_planted_fault_is_found_at_its_call(model, fault):
    found = hookcli.diff(built(model), built(model, fault), batch(model))
    assert found.verdict == "different"
    assert where(found) == FAULTS[model, fault]
    assert FAULTS[model, fault][1] in found.first.sentence


@pytest.mark.parametrize(("model", "fault"), list(FAULTS))
def test_the_first_difference_is_what_plain_pytorch_measures(model, fault):
    """The exact figures against a hook of our own on the two modules."""
    found = hookcli.diff(built(model), built(model, fault), batch(model))
    kept = []
    for one in (built(model), built(model, fault)):
        inputs, outputs = [], []
        name = found.first.a.name

        def hook(module, args, kwargs, output, inputs=inputs, outputs=outputs):
            tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor)]
            inputs.append(tensors[0])
            output = getattr(output, "logits", output)
            outputs.append(output[0] if isinstance(output, tuple) else output)

        one.get_submodule(name).register_forward_hook(hook, with_kwargs=True)
        held = batch(model)
        one(*held.args, **held.kwargs)
        kept.append((inputs[0].detach().double(), outputs[0].detach().double()))
    for at, exact in ((0, found.first.inputs[0]), (1, found.first.outputs[0])):
        ours, theirs = kept[0][at], kept[1][at]
        gap = (ours - theirs).norm() / ours.norm()
        assert exact.relative == pytest.approx(gap.item(), rel=1e-9)
        assert exact.max_abs == (ours - theirs).abs().max().item()
        assert exact.differ == (ours != theirs).sum()


@pytest.mark.parametrize("model", list(BUILD))
def test_the_same_model_twice_is_the_same_bit_for_bit(model):
    found = hookcli.diff(built(model), built(model), batch(model))
    assert found.verdict == "same"
    assert found.first is None
    assert found.calls.same == len(found.rows)
    assert found.parameters.same == len(found.state) - found.buffers.same


@pytest.mark.parametrize("model", list(BUILD))
def test_bfloat16_against_float32_is_within_its_tolerance(model):
    found = hookcli.diff(built(model), built(model).bfloat16(), batch(model))
    assert found.verdict == "same", found.first
    assert found.calls.close


@pytest.mark.parametrize(("model", "fault"), [key for key in FAULTS if key[1] == "residual"])
def test_a_dropped_residual_is_found_across_dtypes(model, fault):
    found = hookcli.diff(built(model), built(model, fault).bfloat16(), batch(model))
    assert found.verdict == "different"
    assert where(found) == FAULTS[model, fault]


@pytest.mark.parametrize("model", ["conv", "transformer", "lstm", "mlp"])
def test_gradients_agree_where_the_models_do(model):
    found = hookcli.diff(built(model), built(model), batch(model), grads=True)
    assert found.verdict == "same"
    assert all(row.gradient.status == "same" for row in found.state if row.kind == "parameter")


def command(model, fault):
    own = ["--own-weights"] if fault == "weight" else []
    source = f"{FILE}:{model}"
    return ["diff", source, f"{source}?arg=fault={fault}", "-i", BATCHES[model], *own]


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        pytest.param(*key, marks=() if key in QUICK else pytest.mark.slow, id="-".join(key))
        for key in FAULTS
        if key in QUICK or key == ("llama", "residual")
    ],
)
def test_the_command_line_finds_it_too(model, fault, tmp_path):
    done = run_cli(*command(model, fault), "-f", "table", "-f", f"json={tmp_path / 'diff.json'}")
    assert done.status == 1, done.err
    found = json.loads((tmp_path / "diff.json").read_text())
    first = found["first"]
    assert (first["fault"], (first["within"] or first["a"])["name"]) == FAULTS[model, fault]
    assert done.out.splitlines()[-1].startswith("DIFFERENT: ")
    assert " ".join(first["sentence"].split()) in " ".join(done.out.split())
