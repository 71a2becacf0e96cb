"""Gradients with respect to chosen tensors, checkpoints as an older torch shows them, and files."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hookcli.cli.input_files import files_read
from hookcli.config.load import read_config
from hookcli.config.merge import Flags, spec_of, with_checks
from hookcli.engine.attempt import Session
from hookcli.engine.gradient_path import source_lines
from hookcli.errors import RequestError
from hookcli.models import model as calls_of_model
from hookcli.spec.checks import CheckSpec
from hookcli.spec.hooks import BackwardSpec
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from tests.conftest import HEAD

NET = (
    HEAD
    + """
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def part(self, x):
        return self.b(self.a(x))

    def forward(self, x):
        return self.c(self.part(x))
"""
)


@pytest.fixture
def net(tmp_path):
    """Write the model with another forward, and give its path."""

    def write(forward="", more=""):
        path = tmp_path / "net.py"
        path.write_text(NET + forward + more)
        return path

    return write


def graded(source, kind="Net", **run):
    """The report of a forward and backward with the hooks of `hookcli grads`."""
    spec = spec_of("grads", None, Flags(model=f"{source}:{kind}", inputs=parse_inputs(("3x4",))))
    spec = replace(spec, run=replace(spec.run, tensors="real", **run))
    return Session(spec, Attempt("real"), lambda *_: None).run().report


def test_gradients_with_respect_to_parameters_and_values_are_those_of_autograd(net):
    path = net()
    patterns = ("*.weight", "b:output", "c:input")
    report = graded(path, backward=BackwardSpec(inputs=patterns))
    names = [row.name for row in report.parameters if row.status == "ok"]
    assert names == ["a.weight", "b.weight", "c.weight"]
    events = {row.target: row.values[0].stats for row in report.events if row.hook is None}
    assert set(events) == {"b:output", "c:input[0]"}
    whole = graded(path)
    assert {row.name: row.grad["norm"] for row in whole.parameters if row.name in names} == {
        row.name: row.grad["norm"] for row in report.parameters if row.name in names
    }
    assert events["b:output"]["norm"] == events["c:input[0]"]["norm"]  # the same tensor


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (("nothing.*",), "nothing that requires grad matches 'nothing.*'"),
        (("nothing:output",), "nothing that requires grad matches 'nothing:output'"),
        (("unused:output",), "run.backward.inputs matches no value of the run that requires grad"),
    ],
)
def test_patterns_that_match_nothing_are_an_error(net, patterns, said):
    more = "\nclass Whole(Net):\n    def __init__(self):\n        super().__init__()\n"
    path = net(more=more + "        self.unused = nn.Linear(1, 1)\n")
    with pytest.raises(RequestError) as caught:
        graded(path, "Whole", backward=BackwardSpec(inputs=patterns))
    assert caught.value.message == said


CHECKPOINTS = {
    "one": "return self.c(checkpoint(self.part, x, use_reentrant={}))",
    "two of the same layers": (
        "x = checkpoint(self.part, x, use_reentrant={0})\n"
        "        return self.c(checkpoint(self.part, x, use_reentrant={0}))"
    ),
    "one in another": (
        "inner = lambda x: checkpoint(self.b, self.a(x), use_reentrant={0})\n"
        "        return self.c(checkpoint(inner, x, use_reentrant={0}))"
    ),
}  # fmt: skip


def calls(report):
    """Each call with the call that it repeats, and whether gradients reached it."""
    return [(row.name, row.call, row.recomputed) for row in report.layers]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad:UserWarning")
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_calls_of_checkpoints_are_found_without_torch_s_help(name, reentrant, net, monkeypatch):
    """An older torch does not tell which hooks on saved tensors are active."""
    body = CHECKPOINTS[name].format(reentrant)
    x = "x.requires_grad_()" if reentrant else "x"
    path = net(f"\n    def forward(self, x):\n        x = {x}\n        {body}\n")
    told = calls(graded(path))
    assert sum(bool(again) for *_, again in told) >= 2
    monkeypatch.setattr(calls_of_model, "top_saved_tensors_hooks", None)
    assert calls(graded(path)) == told


FUNCTION = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return None

class Cut(Net):
    def forward(self, x):
        return self.c(Double.apply(self.part(x)))  # here
"""


@pytest.mark.parametrize("python_apply", [True, False])
def test_a_function_that_swallows_gradients_is_named_with_its_line(net, monkeypatch, python_apply):
    """Torch 2.15 has no Python code for `apply`."""
    if not python_apply:
        monkeypatch.setattr(source_lines, "_APPLY", None)
    path = net(more=FUNCTION)
    line = path.read_text().splitlines().index(
        "        return self.c(Double.apply(self.part(x)))  # here"
    ) + 1  # fmt: skip
    spec = Spec("grads", ModelSpec(f"{path}:Cut"), inputs=parse_inputs(("3x4",)),
                run=RunSpec(grad=True))  # fmt: skip
    spec = with_checks(spec, (CheckSpec("grad_path"),))
    report = Session(spec, Attempt("real"), lambda *_: None).run().report
    text = " ".join(str(row.value) for row in report.measurements)
    assert "Double" in text
    assert f"net.py:{line}" in text


CONFIG = """
model: {source: "net.py:Net", args: {a: {call: "data.py:make"}, b: [{call: "more.py:make"}]}}
inputs: ["[a.pt, b.pt]", "{x: c.npy}", "loader.py:batch"]
hooks:
  - {kind: forward, at: "*", do: {replace: values.pt}}
  - {kind: forward, at: "*", do: {call: "hooks.py:look"}}
"""


def test_each_file_that_a_configuration_names_is_one_that_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(CONFIG)
    for name in ("net", "data", "more", "loader", "hooks"):
        (tmp_path / f"{name}.py").write_text("make = look = batch = Net = print\n")
    for name in ("a", "b", "values"):
        torch.save(torch.ones(1), tmp_path / f"{name}.pt")
    (tmp_path / "c.npy").write_bytes(b"")
    spec = spec_of("grads", read_config("run.yaml"), Flags())
    read = {name.rpartition("/")[2] for name in files_read(spec, "run.yaml")}
    assert read >= {
        "run.yaml", "net.py", "data.py", "more.py", "loader.py", "hooks.py",
        "a.pt", "b.pt", "c.npy", "values.pt",
    }  # fmt: skip
