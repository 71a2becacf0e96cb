"""A hook that returns what it must not is named, in the error too that the model then raises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.conftest import run_cli
from tests.hooks.running import carry_out, hook

HERE = Path.cwd
X = torch.arange(20.0).view(5, 4) - 10

FUNCTIONS = """
import torch

def text(*_): return "abc"
def number(*_): return 0.0
def empty(*_): return ()
def in_a_list(module, args, out): return [out]
def in_a_tuple(module, args, out): return (out,)
def handle(module, args, out): return out.register_hook(lambda grad: None)
def half(module, args, out): return out.half()
def narrow(module, args, out): return out[:, :1]
def twice(module, args): return (args[0], args[0])
def few(): return None
def fails(*_): return helper()
def helper(): raise ValueError("my own mistake")
def boxed(tensor): return {"tensor": tensor}
def opened(box): return box["tensor"]
def nothing(*_): return None
def elsewhere(grad): return grad.to("meta")
"""


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fns.py").write_text(FUNCTIONS)
    return tmp_path


def line_of(name):
    lines = FUNCTIONS.splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.startswith(f"def {name}("))


def run(kind, at, name, **options):
    from hookcli.spec.hooks import FunctionRef

    more = {"options": options} if options else {}
    if isinstance(name, tuple):
        refs = {k: FunctionRef(f"{HERE()}/fns.py:{n}", "native")
                for k, n in zip(("pack", "unpack"), name, strict=True)}  # fmt: skip
    else:
        refs = FunctionRef(f"{HERE()}/fns.py:{name}", "native")
    return carry_out(net(), X, [hook(kind, at, ("call", refs), **more)])


def scope():
    made = {}
    exec(FUNCTIONS, made)
    return made


def by_hand(kind, name, *, with_kwargs=False):
    """Run the model with this hook in plain PyTorch; return the error, or None."""
    model, function = net(), scope()[name]
    if kind == "forward":
        model[0].register_forward_hook(function)
    elif kind == "forward_pre":
        model[0].register_forward_pre_hook(function, with_kwargs=with_kwargs)
    elif kind == "tensor":
        model[0].weight.register_hook(function)
    try:
        model(X).sum().backward()
    except Exception as error:  # whatever torch raises
        return error
    return None


PASSED_ON = [
    ("forward", "text", "returned str instead of a tensor", "error"),
    ("forward", "number", "returned float instead of a tensor", "error"),
    ("forward", "empty", "returned an empty tuple instead of a tensor", "error"),
    ("forward", "in_a_list", "returned list instead of a tensor", "error"),
    ("forward", "in_a_tuple", "returned tuple instead of a tensor", "error"),
    ("forward", "handle", "returned RemovableHandle instead of a tensor", "error"),
    (
        "forward",
        "half",
        "returned float16 of shape [5, 3] instead of float32 of shape [5, 3]",
        None,
    ),
    ("forward", "narrow", "returned float32 of shape [5, 1] instead of float32", None),
    ("forward_pre", "text", "returned str instead of a tensor", "error"),
    ("forward_pre", "empty", "returned an empty tuple instead of a tensor", "error"),
    ("forward_pre", "twice", "returned 2 items instead of 1", "warning"),
]


@pytest.mark.parametrize(("kind", "name", "problem", "severity"), PASSED_ON)
def test_what_the_model_fails_on_is_told_with_its_hook(kind, name, problem, severity, folder):
    expected = by_hand(kind, name)
    assert expected is not None  # plain PyTorch passes it on, and a layer fails
    found = run(kind, "0", name)
    assert type(found.error) is type(expected)
    assert problem in found.failure.message
    assert found.failure.message.startswith("the hook hooks.yaml:1: hooks[0] ")
    assert found.failure.message.endswith(str(expected).split("\n")[0])
    assert found.failure.hook.target == "0"
    assert found.failure.hook.advice.startswith("return None to change nothing")
    assert found.failure.place.endswith(f"fns.py:{line_of(name)}")
    told = [(f.severity, f.place) for f in found.findings if f.rule == "hook_misuse"]
    assert told == ([] if severity is None else [(severity, "hooks.yaml:1: hooks[0]")])


@pytest.mark.parametrize(
    ("kind", "at", "name", "options", "message"),
    [
        ("tensor", "0.weight", "elsewhere", {}, "on meta: it was not used"),
        ("forward_pre", "0", "twice", {"with_kwargs": True}, None),
        ("forward_pre", "0", "text", {"with_kwargs": True}, "must return (args, kwargs) or None"),
    ],
)
def test_what_torch_itself_raises_on_is_not_used(kind, at, name, options, message, folder):
    assert by_hand(kind, name, **options) is not None
    found = run(kind, at, name, **options)
    if message is None:  # the function does not accept the keyword arguments
        assert "raised this error" in found.failure.message
        return
    assert found.error is None
    assert message in found.findings[0].message
    assert found.findings[0].place == "hooks.yaml:1: hooks[0]"


def test_unpack_must_return_a_tensor(folder):
    assert run("saved_tensors", None, ("boxed", "opened")).error is None
    found = run("saved_tensors", None, ("boxed", "nothing"))
    assert "must return a tensor from unpack, but the result is dict" in found.failure.message
    assert found.failure.place.endswith(f"fns.py:{line_of('nothing')}")
    assert found.findings[0].severity == "error"


@pytest.mark.parametrize(
    ("kind", "at", "layer", "phase"),
    [
        ("forward", "0", "0", "forward"),
        ("forward_pre", "2", None, "forward"),
        ("tensor", "0.weight", None, "backward"),
        ("post_accumulate_grad", "2.bias", None, "backward"),
        ("full_backward", "2", None, "backward"),
    ],
)
def test_a_hook_that_raises_is_named_with_line_layer_and_phase(kind, at, layer, phase, folder):
    found = run(kind, at, "fails")
    failure = found.failure
    assert failure.phase == phase
    assert failure.place.endswith(f"fns.py:{line_of('helper')}")
    where = "" if layer else f"at '{at}' "
    assert failure.message == f"the hook hooks.yaml:1: hooks[0] {where}raised this error: " \
        "my own mistake"  # fmt: skip
    assert layer is None or failure.call.name == layer
    assert failure.hook.raised
    assert "--input" not in failure.hook.advice


def test_a_function_that_does_not_fit_is_told_what_it_gets(folder):
    failure = run("forward", "0", "few").failure
    assert failure.place.endswith(f"fns.py:{line_of('few')}")
    expected = "define the function as `hook(module, args, output) -> output | None`"
    assert failure.hook.advice == expected
    advice = run("forward", "0", "few", with_kwargs=True).failure.hook.advice
    assert "hook(module, args, kwargs, output)" in advice


@pytest.mark.parametrize("command", ["trace", "grads", "check"])
def test_the_commands_tell_it_alike(command, folder):
    (folder / "net.py").write_text(
        "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(4, 3), nn.ReLU())\n"
        "def example_inputs():\n    return (torch.ones(5, 4),)\n"
    )
    (folder / "h.yaml").write_text(
        'model: net.py\nhooks:\n  - {kind: forward, at: "0", do: {call: "fns.py:text"}}\n'
    )
    done = run_cli(command, "-c", "h.yaml", "-f", "json=r.json", "-f", "table", cwd=folder)
    assert done.status == 3
    message, place, hint = done.error()
    assert "the hook h.yaml:3: hooks[0] returned str instead of a tensor at '0': relu()" in message
    assert f"fns.py:{line_of('text')}" in place
    assert "return None to change nothing" in hint
    report = json.loads((folder / "r.json").read_text())
    assert report["error"]["hook"]["place"] == "h.yaml:3: hooks[0]"
    assert [row["rule"] for row in report["checks"] if row["status"] == "fail"] == ["hook_misuse"]


def test_a_hook_is_not_blamed_if_the_model_fails_without_it_too(folder):
    (folder / "net.py").write_text(
        "import torch\nfrom torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 3)\n"
        "    def forward(self, x):\n        self.a(x)\n        raise KeyError('own')\n"
        "def example_inputs():\n    return (torch.ones(5, 4),)\n"
    )
    (folder / "h.yaml").write_text(
        "model: net.py\nhooks:\n  - {kind: forward, at: a, do: {call: 'fns.py:half'}}\n"
    )
    done = run_cli("trace", "-c", "h.yaml", cwd=folder)
    assert done.status == 3
    assert "fns.py" not in done.err
    assert "the hook" not in done.err
