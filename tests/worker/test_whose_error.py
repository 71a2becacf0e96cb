"""Whose an error is: hookcli's own by its class and the code that raised it, never by its name.

A model may have errors of the same names, import ours, and raise what lies about itself.
"""

from __future__ import annotations

import builtins

import pytest

from hookcli.errors import (
    BugError,
    HookcliError,
    ModelError,
    NoBatchError,
    RequestError,
    is_own,
    trace_of,
)
from hookcli.models.failures import failure_of, message_of, type_name
from hookcli.spec.inputs import parse_inputs
from tests.conftest import HEAD, run_cli

OURS = (HookcliError, RequestError, NoBatchError, ModelError, BugError)


def caught(raising):
    try:
        raising()
    except BaseException as error:  # it is what is looked at
        return error
    raise AssertionError("nothing was raised")


def ours():
    parse_inputs(("nonsense",))


def by_our_api():
    import hookcli

    hookcli.inspect(3)


@pytest.mark.parametrize("kind", OURS)
def test_an_error_of_ours_that_other_code_raises_is_not_ours(kind):
    def raising():
        raise kind("said", place="here", hint="do that")

    error = caught(raising)
    assert not is_own(error)
    assert type_name(error) == f"hookcli.errors.{kind.__name__}"


@pytest.mark.parametrize("kind", OURS)
def test_a_class_below_ours_or_of_its_name_is_not_ours(kind):
    below = type("Mine", (kind,), {})
    named = type(kind.__name__, (Exception,), {"__module__": "net"})
    liar = type(kind.__name__, (Exception,), {"__class__": kind, "__module__": 3})
    for error in (below("a", place="b", hint="c"), named("a"), liar("a")):
        assert not is_own(error)
    assert type_name(named("a")) == f"net.{kind.__name__}"
    assert type_name(liar("a")) == f"model.{kind.__name__}"


def test_what_hookcli_raises_is_its_own():
    assert is_own(caught(ours))
    assert is_own(RequestError("not raised yet", place="here", hint="do that"))
    assert type_name(caught(ours)) == "RequestError"


def test_what_hookcli_raises_to_a_model_that_calls_it_is_the_models():
    assert not is_own(caught(by_our_api))


@pytest.mark.parametrize("name", ["died", "timeout", "memory"])
def test_a_name_that_means_a_crash_is_told_with_its_module(name):
    assert type_name(type(name, (Exception,), {"__module__": "net"})()) == f"net.{name}"
    assert type_name(ValueError()) == "ValueError"


class Text(str):
    __slots__ = ()

    def strip(self, *_):
        raise ValueError("strip")

    split = splitlines = strip


def lie(*_):
    raise SystemExit("a lie")


LIARS = {
    "__str__": lie,
    "__repr__": lie,
    "str of a class of its own": {"__str__": lambda _: Text("x")},
    "__class__": property(lie),
    "__module__": property(lie),
    "__cause__": property(lie),
    "__context__": property(lie),
    "__traceback__": property(lie, lambda *_: None),
    "args": property(lie),
    "__notes__": 3,
    "__getattribute__": lie,
    "__hash__": None,
    "__bool__": lie,
    "__eq__": lie,
}


@pytest.mark.parametrize("what", LIARS)
@pytest.mark.parametrize("base", [Exception, BaseException, SystemExit, SyntaxError, ImportError])
def test_an_error_that_lies_is_told(what, base):
    value = LIARS[what]
    kind = type("Liar", (base,), value if isinstance(value, dict) else {what: value})

    def raising():
        raise kind("x")

    error = caught(raising)
    told = failure_of(error, "forward")
    assert (told.type, told.phase) == ("Liar", "forward")
    assert type(told.message) is str
    assert told.message
    assert type(told.details) is str
    assert trace_of(error) is not None
    assert not is_own(error)


GROUP = getattr(builtins, "ExceptionGroup", lambda *args: ValueError(*args))  # of Python 3.11


@pytest.mark.parametrize(
    "error",
    [
        SyntaxError("x", (3, 4, 5, 6)), SyntaxError(3), ModuleNotFoundError("x", name=3),
        GROUP("g", [ValueError(1), GROUP("h", [KeyError(2)])]),
        ValueError("\udcff\0\x1b"), ValueError("m\n" * 100_000), type("", (Exception,), {})("x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_odd_error_is_told(error):
    told = failure_of(error, "forward")
    assert told.message == message_of(error)
    assert told.type == type(error).__name__


RAISED = {
    "of our name": "class BugError(Exception): pass\ndef go(): raise BugError('x')",
    "ours": "from hookcli.errors import BugError\n"
    "def go(): raise BugError('x', place='p', hint='h')",
    "a request's": "from hookcli.errors import RequestError\n"
    "def go(): raise RequestError('x', place='p', hint='h')",
    "by our API": "import hookcli\ndef go(): hookcli.inspect(3)",
    "a crash's name": "class timeout(Exception): pass\ndef go(): raise timeout('x')",
    "liar": "class E(Exception):\n    def __getattribute__(self, name): raise SystemExit(name)\n"
    "def go(): raise E('x')",
    "no module's name": "def go(): raise ModuleNotFoundError('x', name=3)",
}
PARTS = {
    "import": "go()\n",
    "build": "class Net(nn.Linear):\n    def __init__(self):\n        go()\n",
    "train": "class Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 3)\n"
    "    def train(self, mode=True):\n        go()\n",
    "forward": "class Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 3)\n"
    "    def forward(self, x):\n        go()\n",
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("raised", RAISED)
def test_what_a_model_raises_is_the_models_fault(raised, part, tmp_path):
    (tmp_path / "net.py").write_text(f"{HEAD}{RAISED[raised]}\n{PARTS[part]}")
    tensors = [] if part in {"import", "build"} else ["--tensors", "real"]
    result = run_cli("inspect", "net.py", "-i", "2x4", *tensors, cwd=tmp_path)
    _, place, _ = result.error()
    assert result.status == 3
    assert place.startswith("net.py:")


@pytest.mark.parametrize("raised", ["ours", "a request's", "liar"])
def test_what_a_function_of_a_hook_raises_is_its_fault(raised, tmp_path):
    (tmp_path / "net.py").write_text(f"{HEAD}{RAISED[raised]}\nmodel = nn.Linear(4, 3)\n"
                                     "def hook(*_): go()\n")  # fmt: skip
    (tmp_path / "c.yaml").write_text(
        "model: net.py:model\ninputs: [2x4]\n"
        "hooks: [{kind: forward, at: '', do: {call: 'net.py:hook'}}]\n"
    )
    result = run_cli("trace", "-c", "c.yaml", cwd=tmp_path)
    result.error()
    assert result.status == 3


def test_what_the_user_names_of_python_s_own_code_is_the_model_s_fault(tmp_path):
    done = run_cli("inspect", "builtins:breakpoint", cwd=tmp_path)
    assert done.status == 3
    message, place, _ = done.error()
    assert message.startswith("BdbQuit in build")
    assert place == "builtins:breakpoint"
