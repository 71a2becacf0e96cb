"""Each file of tests has a tier, and pure tests need neither torch nor a process."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.tiers import _PATTERNS, Tiers, tier

FILES = sorted((ROOT / "tests").rglob("test_*.py"))


def test_each_pattern_names_a_file():
    for patterns in _PATTERNS.values():
        for pattern in patterns:
            assert any(path.match(pattern) for path in FILES) or pattern == "*", pattern


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tests/spec/test_selectors.py", "pure"),
        ("tests/formats/svg/test_drawing.py", "pure"),
        ("tests/cli/test_console.py", "pure"),
        ("tests/cli/test_check.py", "system"),
        ("tests/test_layers.py", "system"),
        ("tests/hooks/test_order.py", "truth"),
    ],
)
def test_a_file_has_the_tier_of_the_first_row_that_names_it(path, name):
    assert tier(ROOT / path) == name


def test_importing_the_files_of_pure_tests_imports_no_torch():
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in FILES
        if tier(path) == "pure"
    ]
    assert len(names) > 50
    code = f"import sys; sys.modules['torch'] = None; import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def torch_again():
    import torch  # noqa: F401


def torch_by_name():
    importlib.import_module("torch.nn")


def swallowed():
    try:
        subprocess.Popen(["/none/such"])
    except OSError:
        pass


def forked():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def run(item, test):
    """Run a test as pytest does, between the two halves of the hook."""
    hook = Tiers().pytest_runtest_call(item)
    next(hook)
    test()
    try:
        next(hook)
    except StopIteration:
        return None
    except pytest.fail.Exception as failed:
        return str(failed)


PURE = SimpleNamespace(get_closest_marker=lambda name: name == "pure" or None)
OTHER = SimpleNamespace(get_closest_marker=lambda _: None)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (torch_again, "imports torch"),
        (torch_by_name, "imports torch"),
        (swallowed, "starts a process"),
        (forked, "starts a process"),
        (lambda: importlib.import_module("json"), None),
    ],
)
def test_a_pure_test_that_imports_torch_or_starts_a_process_fails(test, said):
    assert run(OTHER, test) is None
    failure = run(PURE, test)
    assert failure == (said and f"a pure test {said}: name another tier in tests/tiers.py")
