"""The tier of each test, by its file: *pure*, *truth* or *system*; `pytest -m pure` selects one.

- pure: imports no torch and starts no process. `Tiers` fails one that does.
- truth: what hookcli says of models, held against plain PyTorch.
- system: processes, signals, faults, browsers, scripts, documentation.

The first row of `TIERS` that matches the path of a file decides. What no row names is truth.
"""

from __future__ import annotations

import builtins
import importlib
import os
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

TIERS: dict[str, tuple[str, ...]] = {
    "pure": (
        "tests/cli/test_{any_text,console,formats_for_browsers,library_models}.py",
        "tests/comparison/test_{against,align,diff_rows,locate,step_figures,step_rows}.py",
        "tests/comparison/test_{resumed,tolerance,training_records,trainings}.py",
        "tests/config/test_{actions,all_at_once,at,docs,document,extends,further_refusals}.py",
        "tests/config/test_{hooks,model_and_inputs,presets,schema}.py",
        "tests/distributed/test_merge.py",
        "tests/formats/html/test_{edges_data,layers,ranks}.py",
        "tests/formats/svg/*.py",
        "tests/formats/test_{check_fold,colour,existing,fold_statistics,grads,grid}.py",
        "tests/formats/test_{hostile_time,interpreter,perfetto,rebuilt_histograms,trace}.py",
        "tests/formats/test_unusual_values.py",
        "tests/messages/*.py",
        "tests/models/test_model_files.py",
        "tests/outputs/test_sinks.py",
        "tests/reference/*.py",
        "tests/report/test_{doctored,edge_rows,hook_findings,largest_step,training_report}.py",
        "tests/report/test_unusual_rows.py",
        "tests/rules/training/test_{judge_training,limits,series,step_rules}.py",
        "tests/rules/test_{defaults,docs,path_sentences,ranks,rows}.py",
        "tests/engine/test_suspicion.py",
        "tests/training/script/test_say.py",
        "tests/snapshot/test_{globs,sections,text}.py",
        "tests/spec/test_{nested_inputs,selectors,texts}.py",
        "tests/test_{products,text}.py",
        "tests/worker/test_child_parts.py",
    ),
    "system": (
        "tests/{benchmarks,browser,ci,cli,distributed,docs,faults,forked,fuzz,interpreters}/*",
        "tests/{mutation,near,system,training/script,worker}/*",
        "tests/test_*.py",
    ),
    "truth": ("*",),
}


def _spread(pattern: str) -> list[str]:
    """Return the patterns that one with names in braces stands for."""
    before, brace, rest = pattern.partition("{")
    names, _, after = rest.partition("}")
    return [f"{before}{name}{after}" for name in names.split(",")] if brace else [pattern]


_PATTERNS = {
    tier: tuple(one for pattern in patterns for one in _spread(pattern))
    for tier, patterns in TIERS.items()
}


@cache
def tier(path: Path) -> str:
    """Return the tier of a file of tests."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
    return next(
        tier
        for tier, patterns in _PATTERNS.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


class Tiers:
    """A plugin: marks tests with their tier, and fails pure ones that import torch or fork."""

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Import only the files of pure tests if they alone are asked for: no other needs torch."""
        if config.getoption("markexpr", "") != "pure":
            return None
        files = (
            collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
        )
        return None if any(tier(file) == "pure" for file in files) else True

    @pytest.hookimpl(tryfirst=True)  # before `-m` selects
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark each test."""
        for item in items:
            item.add_marker(tier(item.path))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Watch while a pure test runs. It fails at its end: it may catch what is raised inside."""
        if item.get_closest_marker("pure") is None:
            return (yield)
        done: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            _watch(patch, done)
            result = yield
        if done:
            pytest.fail(f"a pure test {done[0]}: name another tier in tests/tiers.py")
        return result


def _watch(patch: pytest.MonkeyPatch, done: list[str]) -> None:
    """Note the first import of torch, also if it is imported already, and the first process."""

    def note_before(holder: object, name: str, says: Callable[..., str | None]) -> None:
        original = getattr(holder, name)

        def noting(*args: Any, **kwargs: Any) -> Any:
            if text := says(*args):
                done.append(text)
            return original(*args, **kwargs)

        patch.setattr(holder, name, noting)

    def imports(name: str, *_: object) -> str | None:
        return "imports torch" if name.partition(".")[0] == "torch" else None

    note_before(builtins, "__import__", imports)
    note_before(importlib, "import_module", imports)
    note_before(subprocess.Popen, "__init__", lambda *_: "starts a process")
    for name in ("fork", "posix_spawn", "execve"):
        if hasattr(os, name):
            note_before(os, name, lambda *_: "starts a process")
