"""What a worker says if its environment has no torch, an old one or a broken one."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from hookcli.errors import ModelError, RequestError
from hookcli.spec.request import Interpreter
from hookcli.worker.child.torch_import import import_torch, placed


class Finder:
    """Finds a torch whose import raises an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "torch" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        raise self.error


@pytest.mark.parametrize(
    ("error", "expected", "message", "hint"),
    [
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"), RequestError,
            "torch is not installed", "--python PATH",
        ),
        (
            ModuleNotFoundError("No module named 'numpy'", name="numpy"), ModelError,
            "ModuleNotFoundError: No module named 'numpy'", "import torch",
        ),
        (OSError("libc10.so: no such file\nmore"), ModelError, "OSError: libc10.so", "to see more"),
        (SystemExit(3), ModelError, "SystemExit: 3", "to see more"),
    ],
    ids=["none", "a package is missing", "a library is missing", "it exits"],
)  # fmt: skip
def test_an_import_that_fails_says_why(monkeypatch, error, expected, message, hint):
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(sys, "meta_path", [Finder(error)])
    with pytest.raises(expected) as caught:
        import_torch()
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.place == sys.executable


def stranger(*, package: bool) -> ModuleType:
    """A module of the user's that has torch's name."""
    module = ModuleType("torch")
    module.__file__ = None if package else "/home/me/torch.py"
    module.__path__ = ["/home/me/torch"]
    return module


def aged(version: str) -> ModuleType:
    module = ModuleType("torch")
    module.__version__ = version
    return module


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (stranger(package=False), "/home/me/torch.py is not PyTorch, but its name is torch"),
        (stranger(package=True), "/home/me/torch is not PyTorch, but its name is torch"),
        (aged("1.13.1+cpu"), "1.13.1+cpu"),
    ],
    ids=["a file", "a folder", "an old one"],
)
def test_another_torch_is_refused(monkeypatch, module, message):
    monkeypatch.setitem(sys.modules, "torch", module)
    with pytest.raises(RequestError) as caught:
        import_torch()
    assert message in caught.value.message


def test_a_new_torch_is_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", aged("99.1.0a0+git1"))
    import_torch()


def test_an_error_names_what_chose_the_interpreter():
    chosen = Interpreter("/opt/python", "run.python", "hookcli.yaml:2")
    error = RequestError("no torch", place="/opt/python", hint="install it")
    assert placed(error, None).place == "/opt/python"
    assert placed(error, chosen).place == "hookcli.yaml:2"
    other = ValueError("x")
    assert placed(other, chosen) is other
    assert not hasattr(other, "place")
