"""The saved batch and weights of a step give the same NaN in another command."""

from __future__ import annotations

import dataclasses
import importlib
import json
import shlex
import sys

import pytest
import torch
from torch import nn

from hookcli.models import places
from hookcli.spec.training import ScriptSpec
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.generators import Generators
from hookcli.training.non_finite.save_step import constructor_arguments, save_step
from tests.conftest import run_cli
from tests.training.script.conftest import both, line  # noqa: F401  # fixtures

SCRIPT = ScriptSpec("train.py")
GUARDED = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, depth=1):
        super().__init__()
        self.width, self.depth = width, depth
        self.a = nn.Linear(width, 4)
        self.d = nn.Dropout(0.1)

    def forward(self, x, shift):
        return torch.log(self.d(self.a(x)).relu() * 0 + shift)


def main():
    torch.manual_seed(0)
    net = Net(8, depth=2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        loss = net(torch.randn(4, 8), torch.full((4, 4), float(step < 2))).mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item(), torch.rand(()).item())
    torch.save(net.state_dict(), "final.pt")


if __name__ == "__main__":
    main()
"""
IN_PACKAGE = {
    "saved_step_package/__init__.py": "",
    "saved_step_package/part.py": """
from torch import nn


class Part(nn.Module):
    def forward(self, x):
        return x * x
""",
    "saved_step_package/net.py": """
from torch import nn
from .part import Part


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.a = Part(), nn.Linear(8, 4)

    def forward(self, x):
        return self.a(self.part(x))
""",
}


def call(*args, **kwargs):
    return ForwardCall(args, kwargs, Generators())


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def repeated(folder, command):
    """The operator that made the first NaN, with its line, when a command of a report runs."""
    words = shlex.split(command)
    assert words[:2] == ["hookcli", "grads"]
    again = run_cli(*words[1:], "-f", "json", cwd=folder)
    assert again.status == 0, again.err
    rows = json.loads(again.out)["measurements"]
    (value,) = [row["value"] for row in rows if row["probe"] == "first_non_finite"]
    return value["layer"], value["written"], value["place"]


def test_the_command_of_the_report_repeats_the_step(tmp_path):
    written(tmp_path, {"train.py": GUARDED})
    ran = run_cli(
        "run", "--stop-on", "nonfinite", "-o", "run.json", "train.py", cwd=tmp_path, real=True
    )
    assert ran.status == 0, ran.err
    report = json.loads((tmp_path / "run.json").read_text())
    first = report["first_non_finite"]
    assert (first["step"], first["batch"]) == (2, "hookcli-batch.pt")
    named = first["layer"], first["operator"], first["place"]
    assert named == ("", "torch.log", "train.py:14")
    assert report["script"]["ended"] == "stopped"
    (note,) = [text for text in report["warnings"] if "to repeat the step" in text]
    assert repeated(tmp_path, note.split("`")[1]) == named


def test_a_class_of_another_module_is_named_by_its_file(tmp_path, monkeypatch):
    written(tmp_path, IN_PACKAGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "START", tmp_path)
    monkeypatch.setattr(places, "_shown", {})
    monkeypatch.syspath_prepend(tmp_path)
    net = importlib.import_module("saved_step_package.net").Net().half()
    x = torch.full((2, 8), 300.0, dtype=torch.float16)
    saved = save_step(net, call(x), batch="b.pt", script=SCRIPT)
    assert saved.command.split()[2] == "saved_step_package/net.py:Net"
    named = "part", "torch.mul", "saved_step_package/part.py:7"
    assert repeated(tmp_path, saved.command) == named


def test_a_training_with_nan_is_the_same_with_hookcli(both):  # noqa: F811
    plain, hooked = both({"train.py": GUARDED}, "train.py")
    assert dataclasses.asdict(hooked) == dataclasses.asdict(plain)
    assert "nan" in plain.out or "inf" in plain.out


def test_arguments_are_saved_by_name_so_that_none_is_a_target(tmp_path):
    class Two(nn.Linear):
        def forward(self, x, target=None, *, scale=1.0):
            return super().forward(x) * scale

    x, y = torch.ones(2, 8), torch.zeros(2)
    given = {"a": [x, (y, 3, "b")]}
    save_step(Two(8, 4), call(x[:1], y, scale=given), batch=str(tmp_path / "b.pt"), script=SCRIPT)
    content = torch.load(tmp_path / "b.pt", weights_only=True)
    assert list(content) == ["x", "target", "scale"]
    assert torch.equal(content["x"], x[:1])
    assert content["x"].untyped_storage().nbytes() == 32  # not of the whole x
    assert content["scale"]["a"][1][1:] == (3, "b")


def test_a_batch_that_is_not_plain_is_not_saved(tmp_path):
    saved = save_step(nn.Linear(2, 2), call(object()), batch=str(tmp_path / "b.pt"), script=SCRIPT)
    assert (saved.batch, saved.why) == (None, "the batch contains a value of type object")
    assert not list(tmp_path.iterdir())


class Any(nn.Module):
    """Takes arguments in every form; the sum of all."""

    def forward(self, *xs, **named):
        return sum(xs) + sum(named.values())


class First(nn.Module):
    """Takes its arguments by position, or by name only."""

    def forward(self, x, /, y=0.0):
        return x + y


class Named(nn.Module):
    def forward(self, x, **more):
        return x + sum(more.values())


def saved_batch(tmp_path, net, *args, **kwargs):
    """What `save_step` writes for the arguments of a call; why, if it writes nothing."""
    given = ForwardCall(args, kwargs, Generators())
    saved = save_step(net, given, batch=str(tmp_path / "b.pt"), script=SCRIPT)
    return saved.why if saved.batch is None else torch.load(tmp_path / "b.pt", weights_only=True)


def test_the_saved_batch_fits_every_form_of_a_signature(tmp_path):
    one, two = torch.ones(2), torch.full((2,), 2.0)
    for net, args, kwargs in (
        (Any(), (one, two), {}),
        (Any(), (), {"x": one, "y": two}),
        (First(), (one, two), {}),
        (Named(), (one,), {"y": two}),
    ):
        content = saved_batch(tmp_path, net, *args, **kwargs)
        again = net(**content) if isinstance(content, dict) else net(*content)
        assert torch.equal(again, one + two), (net, content)


def test_arguments_that_a_hook_of_the_script_removes_are_saved(tmp_path):
    """The signature does not accept them; the hook does."""
    net = nn.Linear(2, 2)
    wanted = net(torch.ones(1, 2))
    net.register_forward_pre_hook(lambda _, args, kwargs: ((kwargs["x"],), {}), with_kwargs=True)
    content = saved_batch(tmp_path, net, x=torch.ones(1, 2), unused=3)
    assert torch.equal(net(**content), wanted)
    assert content["unused"] == 3


def test_positional_and_named_arguments_without_a_common_form_are_not_saved(tmp_path):
    why = saved_batch(tmp_path, Any(), torch.ones(2), y=torch.ones(2))
    assert why == "the batch contains positional and keyword arguments that have no common form"
    assert not list(tmp_path.iterdir())


def test_a_tensor_of_a_class_is_saved_as_a_plain_one(tmp_path):
    class Image(torch.Tensor):
        pass

    content = saved_batch(tmp_path, nn.Identity(), torch.ones(2).as_subclass(Image))
    assert type(content["input"]) is torch.Tensor


def test_a_class_of_an_installed_package_is_named_by_its_module(tmp_path, monkeypatch):
    from torch.nn.utils.parametrizations import _WeightNorm

    monkeypatch.setattr(_WeightNorm, "__module__", "numpy.linalg")
    saved = save_step(
        _WeightNorm(),
        call(torch.ones(1), torch.ones(1)),
        batch=str(tmp_path / "b.pt"),
        script=SCRIPT,
    )
    assert saved.command.split()[2] == "numpy.linalg:_WeightNorm"


def test_unknown_arguments_of_the_constructor_are_left_to_the_user(tmp_path):
    """The class is that of the script. YAML would read the name as a number without quotes."""

    class Model(nn.Module):
        def __init__(self, size, name, *rest, **options):
            super().__init__()
            self.name = name

        def forward(self, x):
            return x

    Model.__module__, Model.__qualname__ = "__main__", "Model"
    net = Model([1], "1e3")
    saved = save_step(net, call(torch.ones(1)), batch=str(tmp_path / "b.pt"), script=SCRIPT)
    assert saved.missing == ("size",)
    words = shlex.split(saved.command)
    assert words[2] == "train.py:Model"
    assert words[-4:] == ["--arg", 'name="1e3"', "--arg", "size=..."]


def test_a_class_of_torch_is_named_by_its_variable(tmp_path, monkeypatch):
    net = nn.Sequential(nn.Linear(8, 4)).eval().double()
    monkeypatch.setattr(sys.modules["__main__"], "net", net, raising=False)
    monkeypatch.chdir(tmp_path)
    saved = save_step(net, call(torch.ones(1, 8)), batch=str(tmp_path / "b.pt"), script=SCRIPT)
    assert saved.command.startswith("hookcli grads train.py:net -i ")
    assert saved.command.endswith("--mode eval --dtype float64")


def test_arguments_of_the_constructor_are_found_as_attributes():
    class Model(nn.Module):
        def __init__(self, width, kind, layers, bias=True, rate=0.1):
            super().__init__()
            self.width, self.kind, self.bias, self.rate = width, kind, False, rate

    found = constructor_arguments(Model(8, "true", [3]))
    assert found == ({"width": 8, "kind": "true", "bias": False}, ("layers",))


TRAINS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)
    def forward(self, x):
        return self.a(x){inside}

def main():
    net = {net}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = net(torch.ones(4, 3)).sum(){outside}
    loss.backward()
    optimizer.step()

{call}
"""
GUARD = "if __name__ == '__main__':\n    main()"


@pytest.mark.parametrize(
    ("inside", "outside", "net", "call", "told", "not_told"),
    [
        ("", " * torch.log(-torch.ones(()))", "Net()", GUARD, "the script computes the loss",
         "to repeat the step"),
        (".sub(9).log()", "", "nn.Sequential(Net())", GUARD, "a function that returns the model",
         "NAME"),
        (".sub(9).log()", "", "Net()", "main()", "the command imports train.py, which trains again",
         "the script computes the loss"),
        (".sub(9).log()", "", "Net()", GUARD, "hookcli grads train.py:Net", "trains again"),
    ],
    ids=["of the loss", "a local model", "a script without a guard", "with one"],
)  # fmt: skip
def test_what_repeats_a_step_is_told_as_it_is(tmp_path, inside, outside, net, call, told, not_told):
    source = TRAINS.format(inside=inside, outside=outside, net=net, call=call)
    written(tmp_path, {"train.py": source})
    words = ("run", "--stop-on", "nonfinite", "-o", "run.json", "train.py")
    ran = run_cli(*words, cwd=tmp_path)
    assert ran.status == 0, ran.err
    warnings = " ".join(json.loads((tmp_path / "run.json").read_text())["warnings"])
    assert told in warnings
    assert not_told not in warnings
    assert {"hookcli-batch.pt", "hookcli-batch.weights.pt"} <= {p.name for p in tmp_path.iterdir()}
