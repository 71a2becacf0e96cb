"""--python: which Python runs the model, what it gets of hookcli, and which ones are refused."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hookcli.cli.flags.options import ModelFlags
from hookcli.cli.requests import config_of
from hookcli.config.merge import Flags, spec_of
from hookcli.errors import HookcliError, RequestError
from hookcli.spec.request import Attempt, Interpreter
from hookcli.worker import process
from hookcli.worker.interpreter import choice
from hookcli.worker.protocol import FailureMessage, Job, ReportMessage
from tests.conftest import HEAD, ROOT, SAMPLES, run_cli
from tests.worker.environments import environment, other_python, site_of

RECIPES = sorted((SAMPLES / "recipes").glob("*.yaml"))
LINEAR = HEAD + "model = nn.Linear(4, 2)\n"
PARENT = ("typer", "shellingham", "pyyaml", "tabulate", "pydantic")  # hookcli needs them, not torch


@pytest.fixture(scope="module")
def with_torch(tmp_path_factory):
    """An environment with torch and what torch needs: no NumPy, no safetensors, no hookcli."""
    return environment(tmp_path_factory.mktemp("torch") / "venv", "torch")


def without_environment(report: dict) -> dict:
    return {key: value for key, value in report.items() if key != "environment"}


# A model that finds nothing of hookcli's dependencies, nor of the environment that hookcli is in.
ALONE = HEAD + (
    "import importlib.util, sys\n"
    "for name in ('pydantic', 'typer', 'tabulate', 'yaml', 'safetensors', 'numpy'):\n"
    "    assert importlib.util.find_spec(name) is None, name\n"
    "model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))\n"
    "model.path = sys.path\n"
)


def test_a_bare_environment_gives_the_same_report(with_torch, tmp_path):
    (tmp_path / "model.py").write_text(ALONE.replace("assert", "0 and"))
    own = run_cli("check", "model.py", "-f", "json", cwd=tmp_path)
    (tmp_path / "model.py").write_text(ALONE)
    other = run_cli("check", "model.py", "-f", "json", "--python", str(with_torch), cwd=tmp_path)
    assert other.status == own.status == 0, other.err
    assert without_environment(other.report) == without_environment(own.report)
    was = other.report["environment"]
    assert (was["python_executable"], was["python_source"]) == (
        str(with_torch / "bin" / "python"),
        "--python",
    )
    assert own.report["environment"]["python_source"] == "own"


def test_hookcli_without_torch_runs_a_model_in_the_active_environment(with_torch, tmp_path):
    home = environment(tmp_path / "home", *PARENT)
    (site_of(home) / "hookcli").symlink_to(ROOT / "hookcli")
    (tmp_path / "model.py").write_text(ALONE)
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "HOOKCLI_PYTHON"}}
    done = subprocess.run(
        [home / "bin" / "python", "-m", "hookcli", "trace", "model.py"],
        cwd=tmp_path,
        env={**env, "VIRTUAL_ENV": str(with_torch), "COLUMNS": "400"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("python "))
    assert line.endswith("(VIRTUAL_ENV)")
    nothing = subprocess.run(
        [home / "bin" / "python", "-m", "hookcli", "trace", "model.py"],
        cwd=tmp_path,
        env={**env, "VIRTUAL_ENV": "", "CONDA_PREFIX": str(tmp_path / "gone")},
        capture_output=True,
        text=True,
    )
    assert nothing.returncode == 2
    error, place, hint = nothing.stderr.splitlines()
    assert error == "error: no Python interpreter with torch was found"
    for searched in (str(home), "$VIRTUAL_ENV", "$CONDA_PREFIX", ".venv"):
        assert searched in place
    assert f"{home}/bin/python -m pip install torch" in hint


def test_a_library_that_the_environment_lacks_is_named(monkeypatch, tmp_path):
    import numpy as np
    import torch
    from safetensors.torch import save_file

    from hookcli.actions.output_folder import open_folder
    from hookcli.actions.tools import Tools
    from hookcli.models.files.tensors import read_tensors

    np.save(tmp_path / "x.npy", np.ones((2, 4), dtype=np.float32))
    save_file({"weight": torch.ones(2, 4)}, tmp_path / "w.safetensors")
    monkeypatch.chdir(tmp_path)
    tools = Tools(place="c.yaml:1", **{f.name: None for f in fields(Tools) if f.name != "place"})
    for library, work in (
        ("numpy", lambda: read_tensors(str(tmp_path / "x.npy"), "--input x.npy")),
        ("safetensors", lambda: read_tensors(str(tmp_path / "w.safetensors"), "--weights w")),
        ("numpy", lambda: open_folder("taps", tools)),
        ("safetensors", lambda: open_folder("taps", tools)),
    ):
        with monkeypatch.context() as patch:
            for name in [*sys.modules, f"{library}.torch"]:
                if name.partition(".")[0] == library:
                    patch.setitem(sys.modules, name, None)  # Python then finds no such module
            with pytest.raises(RequestError) as raised:
                work()
        assert f"requires {library}, which is not installed for {sys.executable}" in str(
            raised.value
        )
        assert raised.value.hint == f"run `{sys.executable} -m pip install {library}`"
    assert not (tmp_path / "taps").exists()


# Interpreters that cannot run hookcli: files of their site-packages, and what the error says.
UNFIT = {
    "no torch": ({}, 2, "torch is not installed for Python 3", "pip install torch`"),
    "old torch": (
        {"torch/__init__.py": "__version__ = '2.5.1'\n"},
        2, "or newer, this is 2.5.1", "pip install 'torch>=",
    ),
    "broken torch": (
        {"torch/__init__.py": "raise OSError('libtorch.so: cannot open shared object file')\n"},
        3, "cannot import torch: OSError: libtorch.so: cannot open", "-c 'import torch'`",
    ),
    "torch without a dependency": (
        {"torch/__init__.py": "import sympy\n"},
        3, "No module named 'sympy'", "-c 'import torch'`",
    ),
    "torch that crashes": (
        {"torch/__init__.py": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"},
        3, "killed by SIGTERM, while Python imported torch", "-c 'import torch'`",
    ),
    "torch that hangs": (
        {"torch/__init__.py": "import time\ntime.sleep(100)\n"},
        3, "(--timeout), while Python imported torch", "pass a longer `--timeout`",
    ),
    "a folder named torch": (
        {"torch/readme.txt": ""}, 2, "is not PyTorch, but its name is torch", "rename it",
    ),
    "a Python that dies": (
        {"sitecustomize.py": "import os\nos._exit(3)\n"},
        3, "ended with status 3 while Python started", "-c pass` to see why",
    ),
    "a Python that hangs": (
        {"sitecustomize.py": "import time\ntime.sleep(100)\n"},
        3, "(--timeout), while Python started", "pass a longer `--timeout`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNFIT)
def test_an_environment_that_cannot_run_hookcli_is_named(kind, tmp_path):
    files, status, message, advice = UNFIT[kind]
    environment(tmp_path / "venv", files=files)
    (tmp_path / "model.py").write_text(LINEAR)
    before = set(tmp_path.iterdir())
    arguments = ("inspect", "model.py", "-o", "report.txt", "--python", "venv")
    for seconds in ("1", "30"):  # on a busy machine Python may need the second to start
        more = ("--timeout", seconds, "--arg", f"x={'a' * 100_000}") if "hangs" in kind else ()
        done = run_cli(*arguments, *more, cwd=tmp_path)
        error, place, hint = done.error()
        if message in error or not more:
            break
    assert (done.status, done.out) == (status, ""), done.err
    assert message in error
    assert place == "--python venv"
    assert advice in hint
    assert set(tmp_path.iterdir()) == before


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def old_python(folder: Path) -> Path:
    """A program that says what hookcli's first lines say under Python 3.8."""
    return program(folder / "old", '#!/bin/sh\necho hookcli 3.8.18 > "/proc/self/fd/$4"\n')


NOT_PYTHON = {
    "true": (lambda _: "/bin/true", "/bin/true is not a Python interpreter: it ended with status"),
    "sh": (lambda _: "/bin/sh", "/bin/sh is not a Python interpreter: it ended with status 0"),
    "text": (lambda folder: program(folder / "text", "print(1)\n"), "cannot start "),
    "shebang": (lambda folder: program(folder / "gone", "#!/no/python\n"), "cannot start "),
    "not executable": (lambda folder: folder / "model.py", "is not executable"),
    "folder": (lambda folder: folder, "is a directory without a Python interpreter"),
    "missing": (lambda _: "no/such/python", "file not found: no/such/python"),
    "no command": (lambda _: "python9.99", "file not found: python9.99"),
    "empty": (lambda _: "", "--python requires a path"),
    "old": (old_python, "hookcli requires Python 3.10 or newer, got Python 3.8.18"),
}


@pytest.mark.parametrize("kind", NOT_PYTHON)
@pytest.mark.skipif(sys.platform != "linux", reason="one of the programs uses /proc")
def test_what_is_not_a_python_that_hookcli_supports_is_named(kind, tmp_path):
    make, message = NOT_PYTHON[kind]
    (tmp_path / "model.py").write_text(LINEAR)
    python = str(make(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run_cli("inspect", "model.py", f"--python={python}", "-o", "out.txt", cwd=tmp_path)
    error, place, _ = done.error()
    assert (done.status, done.out) == (2, ""), done.err
    assert message in error
    assert place.rstrip() == f"--python {python}".rstrip()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_virtual_environment_whose_python_is_gone_is_named(tmp_path):
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(tmp_path / "gone")
    with pytest.raises(RequestError, match="is a link to a file that does not exist"):
        choice.find_python(str(tmp_path / "venv"), place="")


# The choice, without processes.


def fake(folder: Path, torch: bool) -> Path:
    """An environment as its files look; its program is not Python."""
    program(folder / "bin" / "python", "#!/bin/sh\nexit 1\n")
    if torch:
        package = folder / "lib" / "python3.12" / "site-packages" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    return folder


@pytest.fixture
def no_own_torch(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(choice, "own_has_torch", lambda: False)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "HOOKCLI_PYTHON"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("states", [*itertools.product(("missing", "bare", "torch"), repeat=3)])
def test_the_first_environment_with_torch_is_used(states, no_own_torch, monkeypatch, tmp_path):
    folders = {"VIRTUAL_ENV": "v", "CONDA_PREFIX": "c", ".venv": ".venv"}
    for (name, folder), state in zip(folders.items(), states, strict=True):
        if state != "missing":
            fake(tmp_path / folder, torch=state == "torch")
            monkeypatch.setenv(name, str(tmp_path / folder)) if name != ".venv" else None
    with_torch = [name for name, state in zip(folders, states, strict=True) if state == "torch"]
    if not with_torch:
        with pytest.raises(RequestError) as raised:
            choice.choose(None)
        assert all(name in raised.value.place for name in (sys.executable, *folders))
        first = next((f for f, s in zip(folders.values(), states) if s == "bare"), None)
        python = sys.executable if first is None else str(tmp_path / first / "bin" / "python")
        assert f"{python} -m pip install torch" in raised.value.hint
        return
    chosen = choice.choose(None)
    assert chosen.source == with_torch[0]
    assert chosen.path == str(tmp_path / folders[with_torch[0]] / "bin" / "python")
    assert choice.early_choice(["inspect", "model.py"]) == chosen.path


def test_torch_from_a_path_file_is_found(no_own_torch, monkeypatch, tmp_path):
    (tmp_path / "elsewhere" / "torch").mkdir(parents=True)
    (tmp_path / "elsewhere" / "torch" / "__init__.py").touch()
    files = {"more.pth": f"{tmp_path / 'elsewhere'}\n"}
    monkeypatch.setenv("VIRTUAL_ENV", str(environment(tmp_path / "venv", files=files)))
    assert choice.choose(None).source == "VIRTUAL_ENV"


@pytest.mark.parametrize(
    ("arguments", "variable", "key", "source"),
    [
        ((), None, None, "own"),
        ((), None, "k", "run.python"),
        ((), "v", "k", "HOOKCLI_PYTHON"),
        (("--python", "f"), "v", "k", "--python"),
        (("--python=f",), "v", None, "--python"),
        (("--python", "k", "--python", "f"), None, "k", "--python"),
    ],
)
def test_the_flag_comes_before_the_variable_and_this_before_the_configuration(
    arguments, variable, key, source, monkeypatch, tmp_path
):
    from hookcli.cli.app import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOOKCLI_PYTHON", raising=False)
    if variable:
        monkeypatch.setenv("HOOKCLI_PYTHON", variable)
    for name in "fvk":
        fake(tmp_path / name, torch=False)
    (tmp_path / "model.py").write_text(LINEAR)
    (tmp_path / "c.yaml").write_text(f"model: model.py\nrun: {{python: {key}}}\n" if key else "")
    asked = []

    def stop(spec, *_):
        asked.append(spec.run.python)
        raise RequestError("stop", place="x", hint="x")

    monkeypatch.setattr("hookcli.worker.attempts.run", stop)
    model = ("-c", "c.yaml") if key else ("model.py",)
    run(["inspect", *model, *arguments])
    (python,) = asked
    expected = {"--python": "f", "HOOKCLI_PYTHON": "v", "run.python": "k"}.get(source)
    path = str(tmp_path / expected / "bin" / "python") if expected else sys.executable
    assert (python.path, python.source) == (path, source)
    if source != "run.python":  # which is known only when the file has been read
        assert choice.early_choice(["inspect", *model, *arguments]) == path


def test_data_only_refuses_an_interpreter_of_the_configuration(tmp_path):
    (tmp_path / "c.yaml").write_text("run: {python: ./evil}\n")
    done = run_cli("inspect", "m.py", "-c", "c.yaml", "--data-only", cwd=tmp_path)
    assert done.status == 2
    assert done.error()[0] == "--data-only does not allow code, and ./evil names a program"


def test_the_path_of_a_configuration_starts_at_its_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text("run: {python: ../venv}\n")
    config = config_of(ModelFlags(config=str(tmp_path / "sub" / "c.yaml")))
    assert config.run["python"].path == str(tmp_path / "venv")


def test_a_link_of_a_virtual_environment_is_not_resolved(tmp_path):
    environment(tmp_path / "venv")
    python = choice.find_python(str(tmp_path / "venv"), place="")
    assert python == str(tmp_path / "venv" / "bin" / "python")


def test_a_process_started_ahead_is_used_only_for_its_own_interpreter(monkeypatch):
    commands = []

    class Child:
        pid = -1

        def kill(self):
            commands.append("kill")

        def wait(self, timeout=None):
            return 0

    monkeypatch.setattr(
        process, "_spawn", lambda command, **_: commands.append(command[0]) or Child()
    )
    process.start_ahead("/one")
    process.start_ahead("/two")
    for python, starts in (("/two", 2), ("/three", 3), ("/one", 3)):
        found = process.started(python)
        assert (found.python, len(commands)) == (python, starts)
        found.close()
    process.start_ahead("/four")
    process.end_unused()
    assert commands[-1] == "kill"


# What is pickled between two versions of Python.


def jobs():
    """Jobs of all recipes, with every field of an attempt."""
    for recipe in RECIPES:
        config = config_of(ModelFlags(config=str(recipe)))
        spec = spec_of("trace", config, Flags(model="model.py"))
        run = replace(spec.run, python=Interpreter("/usr/bin/python", "--python", "--python x"))
        yield Job(replace(spec, run=run), Attempt("real", fallback="x", declaration="y"))


def answers():
    errors = [kind("m", place="p", hint="h", details="d") for kind in (HookcliError, RequestError)]
    return [ReportMessage("{}", None), *(FailureMessage("build", error) for error in errors)]


class Recorder(pickle.Unpickler):
    """Notes the modules of all classes and functions in a pickle."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.modules: set[str] = set()

    def find_class(self, module, name):
        self.modules.add(module)
        return super().find_class(module, name)


def test_only_plain_values_and_classes_of_hookcli_are_pickled():
    for message in (*jobs(), *answers()):
        recorder = Recorder(pickle.dumps(message))
        recorder.load()
        assert recorder.modules
        others = {name for name in recorder.modules if name.partition(".")[0] != "hookcli"}
        assert others <= {"builtins"}


ECHO = (
    "import importlib.machinery, importlib.util, pickle, sys\n"
    "spec = importlib.machinery.PathFinder.find_spec('hookcli', [sys.argv[1]])\n"
    "sys.modules['hookcli'] = module = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(module)\n"
    "sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)))\n"
)


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_other_versions_of_python_read_a_job_and_answer(version):
    python = other_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not another version that is installed")
    sent = [*jobs(), *answers()]
    done = subprocess.run(
        [python, "-c", ECHO, str(ROOT)], input=pickle.dumps(sent), capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    got = pickle.loads(done.stdout)
    assert got[: len(sent) - 2] == sent[:-2]
    for ours, theirs in zip(sent[-2:], got[-2:], strict=True):
        assert vars(theirs.error) == vars(ours.error)


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.9"])
def test_a_real_python_that_is_too_old_says_so(version, tmp_path):
    python = other_python(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    (tmp_path / "model.py").write_text(LINEAR)
    done = run_cli("inspect", "model.py", "--python", python, cwd=tmp_path)
    assert done.status == 2
    assert f"requires Python 3.10 or newer, got Python {version}." in done.error()[0]
    assert len(done.err.splitlines()) == 3
