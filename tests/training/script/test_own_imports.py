"""Imports of hookcli in the script's process: a file beside the script does not answer them."""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.machinery import PathFinder

import pytest

from hookcli.training.script.own_imports import OwnImports, UserFolders
from tests.conftest import ROOT
from tests.shadowing import imported, shadow
from tests.training.script.conftest import CLEAN, run

NAMES = ("colorsys", "chunk", "of_user", "beside")  # the first two are of the standard library


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """The context of a script's process, whose folder has files of these names."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("own = True\n")
    (tmp_path / "of_user.py").write_text("import beside, chunk\n")
    folders = UserFolders(sys.path)
    monkeypatch.syspath_prepend(tmp_path)
    folders.first = str(tmp_path)
    context = OwnImports()
    context.folders = folders
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    finders = [finder for finder in sys.meta_path if not _searches_paths(finder)]
    monkeypatch.setattr(sys, "meta_path", [*finders, PathFinder])  # as a script's process begins
    finders = list(sys.meta_path)
    yield context
    assert sys.meta_path == finders
    for name in NAMES:
        sys.modules.pop(name, None)


def _searches_paths(finder) -> bool:
    """Whether it is Python's finder of sys.path, or one that a model of another test put there."""
    return isinstance(finder, type) and issubclass(finder, PathFinder)


def is_of_script(name: str) -> bool:
    return hasattr(importlib.import_module(name), "own")


def test_the_library_is_found_and_the_script_then_finds_its_own(beside):
    known = set(sys.modules)
    with beside, beside:  # the second one changes nothing
        assert not is_of_script("colorsys")
    assert known == set(sys.modules)
    assert is_of_script("colorsys")


def test_what_is_not_installed_is_not_found_beside_the_script(beside):
    with beside:
        assert importlib.util.find_spec("beside") is None
        with pytest.raises(ModuleNotFoundError, match="No module named 'beside'"):
            importlib.import_module("beside")
        importlib.invalidate_caches()
    assert is_of_script("beside")


def test_another_thread_finds_the_files_of_the_script(beside):
    found = []
    with beside:
        thread = threading.Thread(target=lambda: found.append(is_of_script("colorsys")))
        thread.start()
        thread.join()
    assert found == [True]


def test_a_file_of_the_script_finds_its_siblings(beside, tmp_path):
    code = compile("import of_user", str(tmp_path / "s.py"), "exec")
    with beside:
        exec(code, {"__name__": "__main__"})
        assert sys.modules["chunk"].own
        assert sys.modules["beside"].own


def test_a_folder_with_packages_and_one_that_was_there_before_are_searched(
    beside, tmp_path, monkeypatch
):
    packages = tmp_path / "site-packages"
    for path in (packages, tmp_path / "before", tmp_path / "added"):
        path.mkdir()
        monkeypatch.syspath_prepend(path)
    folders = UserFolders([str(tmp_path / "before"), str(tmp_path)])
    folders.first = str(tmp_path)
    hidden = folders.now()
    assert {str(tmp_path), str(tmp_path / "added")} <= hidden
    assert not hidden & {str(packages), str(tmp_path / "before")}


def test_finders_that_the_script_replaced_stay(beside, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "meta_path", [])
        with beside:
            assert sys.meta_path == []


SCRIPT = """
import atexit, sys
here = sys.path.pop(0)
import torch, torch._dynamo.utils
from torch import nn
atexit.unregister(torch._dynamo.utils.dump_compile_times)  # imports
sys.path.insert(0, here)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    loss = net(torch.ones(4, 4)).sum() * (float("nan") if i else 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
1 / 0
"""


# A real process, of some 5 s: what it imports until its end is the subject. Plain Python imports
# nothing beside this script.
def test_hookcli_imports_nothing_beside_a_script(tmp_path):
    folder, ran = tmp_path / "work", tmp_path / "ran"
    shadow(folder, ran)
    (folder / "s.py").write_text(SCRIPT)
    # It is started elsewhere: python -m searches the working folder.
    command = [sys.executable, "-m", "hookcli", "run", "-q", "-o", "run.json"]
    env = {**CLEAN, "PYTHONPATH": str(ROOT)}
    done = run([*command, str(folder / "s.py")], tmp_path, env=env)
    assert done.status == 1
    assert done.err.splitlines()[-1] == "ZeroDivisionError: division by zero", done.err
    assert "hookcli:" not in done.err
    assert '"first_non_finite"' in done.files["run.json"].decode()
    assert imported(ran) == []
