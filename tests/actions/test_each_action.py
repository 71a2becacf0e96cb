"""What each action of the catalogue does, held against values worked out by plain PyTorch."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from hookcli.actions.observe import NotFiniteError
from hookcli.catalogue.actions import CATALOGUE
from tests.hooks import models
from tests.hooks.running import call, carry_out, finished, hook


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))


def output_of(layer):
    """What the layers up to this one give, by plain PyTorch."""
    with torch.no_grad():
        return net()[: layer + 1](models.batch())


def weight_grad(model=None):
    """The gradient of the first weight under the loss `sum`, by plain PyTorch."""
    model = model or net()
    model(models.batch()).sum().backward()
    return model[0].weight.grad


def changed_grad(action, **how):
    """The gradient of the first weight with an action on it."""
    model = net()
    finished(model, models.batch(), [hook("tensor", "0.weight", action)], **how)
    return model[0].weight.grad


def only_event(action):
    [event] = finished(net(), models.batch(), [hook("forward", "0", action)]).events
    return event


def record(_):
    event = only_event("record")
    assert event.values == (("", (2, 3), "float32", False),)
    assert (event.stats, event.changed) == (None, None)


def stats(_):
    [figures], value = only_event("stats").stats, output_of(0).double()
    for name in ("norm", "mean", "min", "max"):
        assert figures[name] == pytest.approx(getattr(value, name)().item(), rel=1e-6)
    assert figures["std"] == pytest.approx(value.std().item(), rel=1e-6)
    assert [figures[name] for name in ("numel", "zeros", "nans", "infs")] == [6, 0, 0, 0]
    [figures] = only_event(("stats", "norm")).stats
    assert figures["norm"] == pytest.approx(value.norm().item(), rel=1e-6)
    assert figures.get("mean") is None
    [figures] = only_event(("stats", "histogram")).stats
    counts = value.float().histc(32, value.min().item(), value.max().item())
    assert figures["histogram"]["counts"] == counts.tolist()


def print_(place):
    only_event("print")
    rows = ", ".join(
        f"[{', '.join(f'{number:.6g}' for number in row)}]" for row in output_of(0).tolist()
    )
    assert place.err() == f"[0] forward forward 0 float32[2, 3] = [{rows}]\n"


def save(place):
    only_event(("save", str(place.folder / "taps")))
    [file] = (place.folder / "taps").iterdir()
    assert torch.equal(load_file(file)["value"], output_of(0))


def scale(_):
    assert torch.equal(changed_grad(("scale", 0.25)), weight_grad() * 0.25)


def add_noise(_):
    drawn = torch.randn(3, 4, generator=torch.Generator().manual_seed(7))
    assert torch.equal(changed_grad(("add_noise", 0.1), seed=7), weight_grad() + drawn * 0.1)


def clamp(_):
    assert torch.equal(changed_grad(("clamp", (-0.1, 0.2))), weight_grad().clamp(-0.1, 0.2))


def clip_norm(_):
    model = net()
    weight_grad(model)
    torch.nn.utils.clip_grad_norm_([model[0].weight], 0.3)
    assert torch.allclose(changed_grad(("clip_norm", 0.3)), model[0].weight.grad)


def zero(_):
    assert torch.equal(changed_grad("zero"), torch.zeros(3, 4))


def negate(_):
    assert torch.equal(changed_grad("negate"), -weight_grad())


def replace(place):
    save_file({"ones": torch.ones(3, 4)}, place.folder / "ones.safetensors")
    assert torch.equal(
        changed_grad(("replace", str(place.folder / "ones.safetensors"))), torch.ones(3, 4)
    )


class Overflow(nn.Module):
    def forward(self, x):
        return torch.stack([x[0] / 0.0, x[1]])


def assert_finite(_):
    model = nn.Sequential(nn.Identity(), Overflow(), nn.Identity())
    found = carry_out(model, torch.ones(2, 4), [hook("forward", "*", "assert_finite")])
    assert isinstance(found.error, NotFiniteError)
    assert "1 contains 0 NaN and 4 Inf" in str(found.error)
    assert [event.target for event in found.events] == ["0"]


def breakpoint_(place):
    place.type("p event.target, [round(number, 4) for number in event.value[0].tolist()]\nc\n")
    only_event("breakpoint")
    shown = [round(number, 4) for number in output_of(0)[0].tolist()]
    assert f"(Pdb) {('0', shown)!r}\n" in place.out()


def comm(_):
    model, whole = net(), net()
    weight_grad(whole)
    finished(model, models.batch(), [hook("ddp_comm", None, ("comm", {"name": "fp16_compress"}))])
    for got, expected in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.equal(got.grad, expected.grad.half().float())  # of one rank the average


def call_(_):
    assert torch.equal(changed_grad(call("tensor_half")), weight_grad() * 0.5)
    assert torch.equal(changed_grad(call("event_plus_one", "event")), weight_grad() + 1)


EFFECTS = {"print": print_, "breakpoint": breakpoint_, "call": call_} | {
    effect.__name__: effect
    for effect in (
        record, stats, save, scale, add_noise, clamp, clip_norm, zero, negate, replace,
        assert_finite, comm,
    )
}  # fmt: skip


@pytest.fixture
def place(tmp_path, capsys, monkeypatch):
    return SimpleNamespace(
        folder=tmp_path,
        type=lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text)),
        out=lambda: capsys.readouterr().out,
        err=lambda: capsys.readouterr().err,
    )


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_action_does_what_its_row_says(name, place):
    assert name in EFFECTS, "a new action needs a function here"
    EFFECTS[name](place)
