"""Who starts Python, and that no process of hookcli imports from the working folder."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hookcli.interpreters.start import hookcli_command, python_command, run_python
from hookcli.worker.interpreter.environments import has_torch, is_python
from tests.conftest import HEAD, ROOT
from tests.shadowing import imported, names, shadow

START = ROOT / "hookcli" / "interpreters" / "start.py"
_OF_OS = r"exec[lv]\w*|spawn\w+|posix_spawn\w*|system|popen|startfile"
STARTS = {
    "subprocess": re.compile(r"Popen|run|call|check_call|check_output|getoutput|getstatusoutput"),
    "os": re.compile(_OF_OS),
    "posix": re.compile(_OF_OS),
    "asyncio": re.compile(r"create_subprocess_\w+"),
    "pty": re.compile(r"spawn"),
    "runpy": re.compile(r"run_\w+"),
    "multiprocessing": re.compile(r"(?!reductions)\w+"),
    "torch.multiprocessing": re.compile(r"(?!reductions)\w+"),
    "concurrent.futures": re.compile(r"ProcessPoolExecutor"),
}


_WORDS = re.compile("|".join([*(name for name in STARTS if name != "os"), _OF_OS]))


def starts(source: str) -> list[int]:
    """The lines of a file that can start a program."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner, name = ast.unparse(node.value), node.attr
            if owner in STARTS and STARTS[owner].fullmatch(name):
                found.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module in STARTS:
            if any(STARTS[node.module].fullmatch(alias.name) for alias in node.names):
                found.append(node.lineno)
        elif isinstance(node, ast.Import):
            modules = {alias.name for alias in node.names}
            renamed = {alias.name for alias in node.names if alias.asname}
            if modules & {"multiprocessing", "torch.multiprocessing"} or renamed & STARTS.keys():
                found.append(node.lineno)
    return found


def test_one_file_starts_programs():
    for path in sorted((ROOT / "hookcli").rglob("*.py")):
        source = path.read_text()
        assert path == START or not _WORDS.search(source) or not starts(source), path
    assert starts(START.read_text())


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run(x)", "os.execv(a, b)", "os.posix_spawnp(a)", "from subprocess import Popen",
        "import subprocess as s", "import multiprocessing", "from os import system",
        "from torch.multiprocessing import spawn", "asyncio.create_subprocess_exec(x)",
        "from concurrent.futures import ProcessPoolExecutor",
    ],
)  # fmt: skip
def test_each_way_to_start_a_program_is_found(line):
    assert starts(line) == [1]


def test_the_action_and_the_hooks_start_no_python_that_searches_the_checkout():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    script = "\n".join(step["run"] for step in action["runs"]["steps"])
    started = re.findall(r'"\$(?:python|HOOKCLI_HOST)"(?! *$)(.*)', script, re.MULTILINE)
    assert started
    assert all(rest.startswith(" -I ") for rest in started)
    bare = re.sub(r"#.*|-I -m pip", "", script)
    assert not re.search(r"(^|[\s(;&|])(python|pip)[\d.]*\s", bare)
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        assert hook["entry"] == "hookcli check"


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A folder with a file for each name; returns the names of the files that were imported."""
    folder, ran = tmp_path / "work", tmp_path / "ran"
    shadow(folder, ran)
    assert len(names()) > 400
    monkeypatch.chdir(folder)
    return lambda: imported(ran)


@pytest.mark.parametrize("path", [None, os.pathsep, "."])
def test_a_process_imports_the_library_of_python(hostile, monkeypatch, path):
    command = python_command(sys.executable, "import json, pip, sysconfig; print(json.__file__)")
    if path is not None:
        # Python itself imports this one from PYTHONPATH, before any code can run.
        Path("encodings.py").unlink()
        for name in ("sitecustomize", "usercustomize"):
            Path(f"{name}.py").unlink()
        monkeypatch.setenv("PYTHONPATH", path)
        command.insert(1, "-S")  # no path files of the environment, which import
        command = [part.replace(", pip", "") for part in command]
    done = run_python(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ast.literal_eval(repr(__import__("json").__file__))
    assert hostile() == []


def test_an_interpreter_is_asked_for_its_own_torch(hostile, tmp_path):
    assert is_python(sys.executable)
    assert has_torch(str(tmp_path), sys.executable)  # the real one of this environment
    assert hostile() == []


def test_the_python_api_starts_this_hookcli(hostile):
    done = run_python(
        hookcli_command("list", "formats"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert hostile() == []


MODEL = f"""{HEAD}
from of_user import width
import wave  # the user's own file, as in plain Python
example_inputs = torch.ones(2, 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, width)
    def forward(self, x):
        return self.fc(x)
"""


# Real processes: the path of each one is the subject.
@pytest.mark.parametrize(
    ("arguments", "status", "own"),
    [
        (("inspect", "hf:some-org/some-name"), 2, []),
        (("snapshot", "model.py", "-o", "../snapshot.yaml"), 0, ["wave"]),
        (("grads", "model:Net", "--nproc", "2", "-q"), 0, ["wave"]),
    ],
)
def test_a_command_runs_nothing_that_was_not_named(hostile, tmp_path, arguments, status, own):
    (tmp_path / "work" / "model.py").write_text(MODEL)
    (tmp_path / "work" / "of_user.py").write_text("width = 3\n")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_TELEMETRY": "1",
                   "HF_ENDPOINT": "http://127.0.0.1:9"}  # fmt: skip
    environment.pop("HF_HUB_OFFLINE", None)
    script = Path(sys.executable).parent / "hookcli"
    done = subprocess.run(
        [script, *arguments], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status, done.stderr
    assert sorted(set(hostile())) == own
