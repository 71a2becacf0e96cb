"""What import-linter cannot check of the structure: what is loaded, who prints, names, sizes.

The levels, the absence of cycles and the folders that import no torch are contracts of
import-linter in pyproject.toml.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.source_code import tree_of

PACKAGE = ROOT / "hookcli"
TORCH_FREE = (
    "catalogue", "spec", "report", "comparison", "rules", "config", "snapshot", "formats",
    "reference", "models/sources", "worker", "cli",
)  # fmt: skip
CHILD = PACKAGE / "worker" / "child"  # the side of the worker that imports torch
SCRIPT = PACKAGE / "training" / "script"  # in the process of the user's script
MANY = {
    "rules",
    "rules/script",
    "rules/training",
    "training/observers",
}  # folders of which each file is an entry of its catalogue
MOST_FILES = 15


def files(folder: Path = PACKAGE) -> list[Path]:
    return [path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts]


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


_IN_FORKS = """
import io, json, os, sys, traceback
{before}
failures = {{}}
for number, code in enumerate(json.loads(sys.argv[1])):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(writer, 2)
        try:
            exec(code, {{"__name__": "__main__"}})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writer)
    text = open(reader, errors="replace").read()
    if os.wait()[1]:
        failures[number] = text
print(json.dumps(failures))
"""


def failures(codes: dict[str, str], before: str = "") -> dict[str, str]:
    """What each code that fails writes to stderr, by its name: each runs in a fork of one Python.

    That Python has run `before`, which says what the codes have in common.
    """
    command = [sys.executable, "-c", _IN_FORKS.format(before=before), json.dumps([*codes.values()])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    names = [*codes]
    return {names[int(number)]: text for number, text in json.loads(done.stdout).items()}


def test_a_code_that_fails_in_a_fork_is_told():
    told = failures(
        {"good": "import sys", "bad": "assert 'torch' in sys.modules", "worse": "1 / 0"}
    )
    assert list(told) == ["bad", "worse"]
    assert "NameError" in told["bad"]
    assert "ZeroDivisionError" in told["worse"]


def test_importing_hookcli_imports_nothing_slow():
    done = python(
        "import sys; before = set(sys.modules); import hookcli; "
        "new = {n.partition('.')[0] for n in set(sys.modules) - before}; "
        "print(sorted(new - sys.stdlib_module_names))"
    )
    assert done.stdout.strip() == "['hookcli']"


def test_importing_a_torch_free_folder_or_a_file_beside_them_loads_no_torch():
    names = {
        folder: [
            dotted(path)
            for path in files(PACKAGE / folder)
            if not path.is_relative_to(CHILD) and path.stem != "__main__"
        ]
        for folder in TORCH_FREE
    }
    names["files"] = [dotted(path) for path in PACKAGE.glob("*.py") if path.stem != "__main__"]
    codes = {
        folder: f"import sys, {', '.join(ones)}; assert 'torch' not in sys.modules"
        for folder, ones in names.items()
    }
    assert failures(codes) == {}


COMMAND_LINES = [
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
    (["schema", "rundiff"], 0),
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
]


def test_no_command_line_loads_torch_in_the_parent():
    codes = {
        " ".join(arguments): (
            "import sys\n"
            "from hookcli.cli.main import guarded\n"
            f"status = guarded({arguments!r})\n"
            "assert 'torch' not in sys.modules, 'torch was loaded'\n"
            f"assert status == {status}, status\n"
        )
        for arguments, status in COMMAND_LINES
    }
    assert failures(codes, before="import hookcli.cli.main") == {}


@pytest.mark.parametrize("command", ["inspect", "grads", "trace", "check"])
def test_a_run_loads_no_torch_in_the_parent(command):
    code = (
        "import sys\n"
        "from hookcli.cli.main import guarded\n"
        f"assert guarded([{command!r}, {str(SAMPLES / 'siamese.py')!r}]) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "SiameseNet" in done.stdout


def test_only_the_console_and_the_ends_of_the_two_processes_touch_the_standard_streams():
    may = {PACKAGE / "console.py", PACKAGE / "cli" / "main.py"}
    may |= {
        PACKAGE / "system" / "process_end.py",
        PACKAGE / "system" / "told_status.py",
        PACKAGE / "cli" / "watch" / "ready_run.py",
        *files(CHILD),
        *files(SCRIPT),
    }
    for path in files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr"}:
                owner = node.value
                if isinstance(owner, ast.Name) and owner.id == "sys":
                    assert path in may, path


def test_a_folder_is_one_idea():
    count = defaultdict(int)
    for path in files():
        count[path.parent.relative_to(PACKAGE).as_posix()] += path.stem != "__init__"
    assert {folder for folder, n in count.items() if n > MOST_FILES} <= MANY


def test_a_public_class_has_a_name_of_its_own():
    where = defaultdict(list)
    for path in files():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_every_folder_says_what_it_contains():
    for path in PACKAGE.rglob("__init__.py"):
        assert (ast.get_docstring(tree_of(path)) or "").endswith("."), path
