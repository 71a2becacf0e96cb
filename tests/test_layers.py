"""Imports go one way, and the command line never loads torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES

PACKAGE = ROOT / "hookcli"
TORCH_FREE = [
    "errors", "console", "memory", "plainfiles", "config", "report", "formats", "cli", "worker",
    "distributed.merge", "distributed.culprit",
    "inputs.grammar", "inputs.infer.hypothesis", "models.kinds", "models.content",
    "models.pickles", "models.refused", "models.resources", "hooks.catalogue", "hooks.kind",
    "hooks.module_kinds", "hooks.autograd_kinds", "hooks.run_kinds", "actions.catalogue", "rules",
    "snapshot", "saved", "pytest_plugin", "api_named",
]  # fmt: skip
CHILD_SIDE = {"hookcli.worker.child.main", "hookcli.worker.child.guard"}

# What each part may import, besides itself. `run` is the engine, and only it and the child's side
# of the worker see models and inputs together.
MAY = {
    "errors": set(),
    "memory": {"errors"},
    "console": {"errors"},
    "plainfiles": set(),
    "report": set(),
    "rules": {"errors", "report"},
    "config": {"errors", "plainfiles", "inputs.grammar", "inputs.infer.hypothesis",
               "hooks.catalogue", "hooks.kind", "actions.catalogue", "rules"},
    "snapshot": {"report", "rules", "config"},
    "saved": {"errors", "plainfiles", "report", "rules"},
    "actions": {"errors", "config", "report", "models"},
    "hooks": {"errors", "config", "report", "models", "actions"},
    "formats": {"errors", "console", "report", "rules", "hooks.catalogue", "hooks.kind",
                "actions.catalogue"},
    "models": {"errors", "config", "report", "inputs.batch"},  # a file may hold its batch
    "inputs": {"errors", "config", "models"},
    "run": {"errors", "console", "config", "report", "rules", "models", "inputs", "memory", "hooks",
            "actions", "distributed"},
    "distributed": {"errors", "config", "report", "models", "hooks"},
    "worker": {"errors", "config", "report", "run", "memory", "inputs.infer.hypothesis",
               "hooks.kind", "actions.catalogue", "distributed.merge", "distributed.culprit"},
    "cli": {"errors", "plainfiles", "console", "config", "report", "rules", "formats", "worker",
            "inputs.grammar", "saved", "snapshot",
            "models.kinds", "hooks.catalogue", "hooks.kind", "actions.catalogue"},
    "api": {"report", "console", "formats", "config", "run"},
    "__main__": {"cli"},
    "api_diff": {"report", "console", "formats", "config", "run"},
    "api_check": {"api", "api_named", "errors", "report", "console", "formats", "config", "rules",
                  "run", "saved"},
    "api_named": {"errors", "report", "config"},
    "pytest_plugin": {"errors"},
    "__init__": {"api", "api_check", "api_diff"},
}  # fmt: skip


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).with_suffix("")
        parts = [p for p in relative.parts if p != "__init__"] or ["__init__"]
        yield path, parts


def imported(path):
    """Dotted names below hookcli that a file imports, outside `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hookcli"):
            base = node.module.removeprefix("hookcli").strip(".")
            for alias in node.names:
                yield f"{base}.{alias.name}".strip(".")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("hookcli."):
                    yield alias.name.removeprefix("hookcli.")


@pytest.mark.parametrize(("path", "parts"), list(modules()), ids=lambda v: None)
def test_imports_go_one_way(path, parts):
    part = parts[0]
    allowed = {part, *MAY[part]}
    if path == PACKAGE / "worker" / "child.py":
        allowed |= {"models"}  # the child's side stands above the engine
    for name in imported(path):
        if name == "__version__":
            continue
        assert any(name == a or name.startswith(a + ".") for a in allowed), (
            f"{path.relative_to(ROOT)} imports hookcli.{name}"
        )


def test_importing_hookcli_imports_nothing_slow():
    code = (
        "import sys; before = set(sys.modules); import hookcli; "
        "new = {n.partition('.')[0] for n in set(sys.modules) - before}; "
        "print(sorted(new - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "['hookcli']"


@pytest.mark.parametrize("part", TORCH_FREE)
def test_the_parent_s_modules_import_no_torch(part):
    names = []
    for path, parts in modules():
        dotted = ".".join(["hookcli", *parts])
        if f"{'.'.join(parts)}.".startswith(f"{part}.") and dotted not in CHILD_SIDE:
            if parts[-1] != "__main__":
                names.append(dotted)
    code = f"import sys, {', '.join(names)}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["inspect", "--help"], 0),
        (["grads", "--help"], 0),
        (["trace", "--help"], 0),
        (["init", str(SAMPLES / "unet.py"), "--preset", "grads"], 0),
        (["list", "hooks"], 0),
        (["list", "actions", "-f", "json"], 0),
        (["list", "formats"], 0),
        (["explain", "hook:full_backward"], 0),
        (["explain", "nonsense"], 2),
        (["schema", "config"], 0),
        (["schema", "report"], 0),
        (["schema", "diff"], 0),
        (["diff", "--help"], 0),
        (["check", "--help"], 0),
        (["check"], 2),
        (["check", "--against", "no_such.json"], 2),
        (["check", str(SAMPLES / "unet.py"), "--update-baseline"], 2),
        (["list", "rules"], 0),
        (["snapshot", "--help"], 0),
        (["snapshot", str(SAMPLES / "unet.py"), "-o", str(Path(__file__))], 2),
        (["explain", "rule:finite"], 0),
        (["diff", "no_such.py", str(SAMPLES / "unet.py")], 2),
        (["diff", str(SAMPLES / "unet.py")], 2),
        (["grads"], 2),
        (["grads", "-c", "no_such.yaml"], 2),
        (["grads", "-c", str(Path(__file__))], 2),
        (["grads", str(SAMPLES / "unet.py"), "--no-grad"], 2),
        (["trace", str(SAMPLES / "unet.py"), "--kinds", "nonsense"], 2),
        (["trace", str(SAMPLES / "unet.py"), "--stream", "."], 2),
        (["inspect", "no_such.py"], 2),
        (["inspect", str(SAMPLES / "unet.py"), "-i", "nonsense"], 2),
        (["inspect", str(SAMPLES / "unet.py"), "--columns", "nonsense"], 2),
        (["inspect", str(SAMPLES / "unet.py"), "--arg", "x=[1"], 2),
        (["render", str(Path(__file__))], 2),
    ],
)
def test_no_command_line_loads_torch_in_the_parent(arguments, status):
    code = (
        "import sys\n"
        "from hookcli.cli.main import guarded\n"
        f"status = guarded({arguments!r})\n"
        "assert 'torch' not in sys.modules, 'torch was loaded'\n"
        f"assert status == {status}, status\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["inspect", "grads", "trace", "check"])
def test_a_run_loads_no_torch_in_the_parent(command):
    code = (
        "import sys\n"
        "from hookcli.cli.main import guarded\n"
        f"assert guarded([{command!r}, {str(SAMPLES / 'siamese.py')!r}]) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "SiameseNet" in done.stdout


def test_only_the_console_prints():
    for path, _ in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr"}:
                owner = node.value
                if isinstance(owner, ast.Name) and owner.id == "sys":
                    assert path.name in {"console.py", "child.py", "interrupts.py", "guard.py"}, (
                        path
                    )


def test_files_stay_small_enough_to_read():
    long = {
        str(path.relative_to(ROOT)): count
        for path, _ in modules()
        if (count := len(path.read_text().splitlines())) > 260
    }
    assert not long
