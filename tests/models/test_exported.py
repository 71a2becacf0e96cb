"""A .pt2 file against the module that it was exported from, by plain PyTorch."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from hookcli.engine.attempt import Session
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from tests import truth
from tests.conftest import SAMPLES, attempt
from tests.models.exporting import (
    ARCHITECTURES,
    MODELS,
    NOT_EXPORTED,
    Again,
    Attention,
    Regions,
    architecture,
    plain,
    sample,
    save,
)

EXPORTED = sorted({path.stem for path in SAMPLES.glob("*.py")} - NOT_EXPORTED)


def grads(path, **run):
    spec = Spec("grads", ModelSpec(str(path)), run=RunSpec(loss="sum", **run))
    return Session(spec, Attempt("real"), lambda *_: None).run().report


def agree(path, model, args, kwargs, *, outputs=True):
    """Every row and every gradient is that of the module."""
    mode = "train" if model.training else "eval"
    want = plain(model, args, kwargs)
    report = attempt(path, mode=mode)
    assert report.error is None
    assert report.model.format == "exported"
    assert report.model.type == type(model).__name__
    # What has no operator is not in the file, nor is a module that nobody registered.
    kept = [row for row in want.rows if row.type not in {"Identity", "BoxDecoder"}]
    assert [(r.name, r.type, r.call, r.own_parameters, r.training) for r in report.layers] == [
        (r.name, r.type, r.call, r.own, r.training) for r in kept
    ]
    for row, other in zip(report.layers, kept, strict=True):
        got = sorted((leaf.shape, leaf.dtype) for leaf in row.outputs)
        if outputs:
            assert got == sorted(other.outputs), row.name
        else:  # nobody reads some of them, so the file has them not
            assert all(leaf in other.outputs for leaf in got), row.name
    assert report.totals.parameters == sum(p.numel() for p in model.parameters())
    assert all(row.place for row in report.layers[1:])
    after = grads(path, mode=mode)
    assert after.error is None
    assert {p.name for p in after.parameters} == set(want.norms)
    for row in after.parameters:
        norm = want.norms[row.name]
        found = None if row.grad is None else row.grad["norm"]
        assert found == (norm if norm is None else pytest.approx(norm, rel=1e-4, abs=1e-5)), row
    return report


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", EXPORTED)
def test_a_sample_has_the_rows_and_gradients_of_its_source(tmp_path, name, training):
    model, args, kwargs = sample(name)
    model.train(training)
    agree(save(tmp_path / "m.pt2", model, args, kwargs), model, args, kwargs)


@pytest.mark.parametrize("name", sorted(NOT_EXPORTED))
def test_the_other_samples_are_refused_by_torch_export_itself(tmp_path, name):
    model, args, kwargs = sample(name)
    with pytest.raises((TypeError, NotImplementedError, RuntimeError)):
        save(tmp_path / "m.pt2", model, args, kwargs)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_an_architecture_has_the_rows_and_gradients_of_its_source(tmp_path, name):
    model, args, kwargs = architecture(name)
    path = save(tmp_path / "m.pt2", model.eval(), args, kwargs)
    agree(path, model, args, kwargs, outputs=name != "T5EncoderModel")


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_calls_names_ties_and_regions_are_the_module_s(tmp_path, name, strict, training):
    kind, batch = MODELS[name]
    truth.seed()
    model, args = kind().train(training), batch()
    path = save(tmp_path / "m.pt2", model, args, strict=strict)
    report = agree(path, model, args, {}, outputs=kind is not Attention)
    if name == "shared":
        aliases = {row.name: row.aliases for row in report.layers if row.aliases}
        # A strict export forgets that a module has another name.
        assert aliases == ({} if strict else {"first": ("second",)})
        assert [row.call for row in report.layers if row.name == "first"] == [0, 1]
        shared = {p.name: p.shared_with for p in report.parameters if p.shared_with}
        assert shared["table.weight"] == ("head.weight",)


@pytest.mark.parametrize("kind", [Regions, Again])
def test_kept_call_signatures_change_no_row(tmp_path, kind):
    truth.seed()
    model, args = kind().eval(), (torch.randn(3, 4),)
    layers = (nn.ModuleList, nn.ModuleDict)
    # torch.export keeps no signature of what is called in two ways, as `inner` is.
    names = [
        name
        for name, m in model.named_modules()
        if name and not name.startswith("inner") and not isinstance(m, layers)
    ]
    path = save(tmp_path / "m.pt2", model, args, preserve_module_call_signature=tuple(names))
    agree(path, model, args, {})


def test_places_are_the_lines_of_the_calls_in_the_source(tmp_path):
    model, args, kwargs = sample("unet")
    path = save(tmp_path / "m.pt2", model.eval(), args, kwargs)
    source = attempt(SAMPLES / "unet.py", mode="eval")
    here = {(r.name, r.call): r.place for r in attempt(path, mode="eval").layers if r.name}
    assert here == {(r.name, r.call): r.place for r in source.layers if r.name}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_fake_run_says_what_the_real_one_does(tmp_path, name):
    kind, batch = MODELS[name]
    path = save(tmp_path / "m.pt2", kind().eval(), batch())
    fake, real = attempt(path, tensors="fake"), attempt(path)
    assert fake.run.tensors == "fake"
    assert (fake.layers, fake.parameters, fake.totals) == (
        real.layers,
        real.parameters,
        real.totals,
    )


def test_a_decomposed_program_runs_and_says_what_it_lost(tmp_path):
    model, args = Again().eval(), (torch.randn(3, 4),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(model, args).run_decompositions()
        torch.export.save(program, tmp_path / "m.pt2")
    report = agree(tmp_path / "m.pt2", model, args, {})
    assert "decomposed" in report.warnings[0]


def test_a_branch_of_cond_is_no_layer_and_is_told(tmp_path):
    class Chooses(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            x = torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))
            return self.fc(x)

    path = save(tmp_path / "m.pt2", Chooses().eval(), (torch.randn(3, 4),))
    report = attempt(path)
    assert [row.name for row in report.layers] == ["", "fc"]
    assert "modules called inside cond have no rows" in report.warnings[0]


def test_the_mode_is_that_of_the_export(tmp_path):
    path = save(tmp_path / "m.pt2", Again().train(), (torch.randn(3, 4),))
    report = attempt(path, mode="eval")
    assert report.run.mode == "as-is"
    assert all(row.training for row in report.layers)
    assert "--mode eval has no effect: the program was exported in train mode" in report.warnings
    assert "in train mode" in report.warnings[0]


def test_a_program_that_is_alike_in_both_modes_takes_the_one_asked_for(tmp_path):
    path = save(tmp_path / "m.pt2", nn.Sequential(nn.Linear(4, 4)), (torch.randn(3, 4),))
    for mode in ("train", "eval"):
        report = attempt(path, mode=mode)
        assert report.run.mode == mode
        assert all(row.training is (mode == "train") for row in report.layers)


def test_what_has_no_operator_is_told(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4), nn.Identity())
    report = attempt(save(tmp_path / "m.pt2", model, (torch.randn(3, 4),)))
    assert [row.name for row in report.layers] == ["", "0"]
    assert "modules without an operator have no row: 1 " in report.warnings[0]


def test_a_layer_whose_parameters_nothing_reads_was_never_called(tmp_path):
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(4, 4), nn.Linear(3, 3)

        def forward(self, x):
            return self.used(x)

    report = attempt(save(tmp_path / "m.pt2", Half(), (torch.randn(3, 4),)))
    assert [row.name for row in report.uncalled] == ["unused"]
    assert report.totals.parameters == 20 + 12
