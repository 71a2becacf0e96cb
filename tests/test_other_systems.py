"""What hookcli does without: the modules and names that macOS and Windows do not have."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import HEAD, ROOT, run_cli
from tests.other_systems import MODULES, OF_OS, OF_SELECT
from tests.source_code import tree_of

SOURCES = sorted((ROOT / "hookcli").rglob("*.py"))
NET = HEAD + "model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())\n"


def imported_at_the_top(path: Path) -> set[str]:
    """The modules that a file imports when it is imported, also in `if` and `try`."""
    names: set[str] = set()
    todo: list[ast.AST] = list(tree_of(path).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return names


def used_at_the_top(path: Path) -> set[str]:
    """The names of `os`, `signal` and `select` that are read when a file is imported."""
    names: set[str] = set()
    todo: list[ast.AST] = list(tree_of(path).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ImportFrom) and node.module in {"os", "select"}:
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in {"os", "select"}:
                names.add(node.attr)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return names


def test_the_search_finds_what_it_looks_for(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("import os\nif 1:\n    import fcntl\nA = os.killpg\nfrom os import fork\n")
    assert "fcntl" in imported_at_the_top(file)
    assert used_at_the_top(file) >= {"killpg", "fork"}


def test_no_module_needs_posix_when_it_is_imported():
    assert len(SOURCES) > 400
    for path in SOURCES:
        assert not imported_at_the_top(path) & MODULES, path
        assert not used_at_the_top(path) & (OF_OS | OF_SELECT), path


def test_every_module_is_imported_without_what_windows_lacks():
    done = subprocess.run(
        [sys.executable, "-m", "tests.other_systems", "win32", "modules"],
        cwd=ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


RUN = [["inspect", "net.py"], ["check", "net.py"], ["diff", "net.py", "net.py"],
       ["grads", "net.py", "--nproc", "2"]]  # fmt: skip
FINE = [["--help"], ["--version"], ["list", "hooks"], ["explain", "rule:finite"],
        ["schema", "report"], ["init", "net.py"], ["init", "net.py", "-o", "new.yaml"],
        ["render", "r.json"], ["render", "r.json", "-f", "sarif", "-o", "r.sarif"],
        ["diff", "r.json", "r.json"], ["--show-completion", "bash"]]  # fmt: skip


def test_without_a_worker_the_rest_works_and_a_run_says_why_not(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    assert run_cli("inspect", "net.py", "-f", "json", "-o", "r.json", cwd=tmp_path).status == 0
    lines = [*FINE, *RUN, ["inspect", "nope.py"], ["render", "r.json"]]
    done = subprocess.run(
        [sys.executable, "-m", "tests.other_systems", "win32", "commands", json.dumps(lines)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    for line, (status, out, err) in zip(lines, results, strict=True):
        if line in RUN:
            shown = err.splitlines()
            assert (status, out, len(shown)) == (2, "", 3), (line, err)
            assert "does not support" in shown[0]
            assert "WSL" in shown[2]
        elif line == ["inspect", "nope.py"]:
            assert (status, "file not found" in err) == (2, True)
        else:
            assert status == 0, (line, err)
            assert out or "-o" in line
    assert (tmp_path / "new.yaml").is_file()
    assert (tmp_path / "r.sarif").is_file()


MACOS = """
import os, select
import hookcli.worker.systems as systems
for name in ("memfd_create", "pidfd_open", "preadv", "sched_getaffinity"):
    delattr(os, name)
del select.epoll
systems.LINUX = False
"""


@pytest.mark.parametrize(
    ("body", "status", "shown"),
    [
        pytest.param("return x", 0, '"complete"', id="runs"),
        pytest.param("import os; os.abort()", 3, "SIGABRT", id="crashes", marks=pytest.mark.slow),
        pytest.param("\n        while True: pass", 3, "took longer than 10 s", id="hangs",
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_worker_needs_nothing_of_linux(tmp_path, body, status, shown):
    """The worker and its parent without what macOS lacks: fallbacks are used on both sides."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(MACOS)
    (tmp_path / "net.py").write_text(
        HEAD + f"class Net(nn.ReLU):\n    def forward(self, x): {body}\n"
    )
    limit = "10" if "while" in body else "200"
    done = subprocess.run(
        [sys.executable, "-m", "hookcli", "inspect", "net.py", "-i", "2x4", "--timeout", limit,
         "-f", "json", "--tensors", "real"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert shown in done.stdout + done.stderr
