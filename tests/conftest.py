"""What many tests use: the command line as a user runs it, and one attempt in process."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import inherited_state  # noqa: F401  # isort: skip  # before torch is imported

import pytest
from hypothesis import settings

from . import products, tiers, times, turns
from .forked.client import Server, server
from .left_files import pytest_sessionfinish, pytest_sessionstart, pytest_terminal_summary
from .left_state import nothing_is_left

__all__ = [  # hooks, and a fixture of each test
    "nothing_is_left", "pytest_sessionfinish", "pytest_sessionstart", "pytest_terminal_summary",
]  # fmt: skip

# The time of an example says nothing on a busy machine, or if `make coverage` traces it.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

ROOT = Path(__file__).parent.parent
TRACED = "COVERAGE_PROCESS_CONFIG" in os.environ  # coverage.py is in each process
SAMPLES = ROOT / "sample_models"


def pytest_addoption(parser):
    products.add_option(parser)
    times.add_option(parser)
    turns.add_option(parser)


def pytest_configure(config):
    config.pluginmanager.register(tiers.Tiers())
    if not config.getoption("--whole"):
        config.pluginmanager.register(products.Push())
        turn = config.getoption("--turn")
        config.pluginmanager.register(turns.Turns(turns.turn_of_commit() if turn is None else turn))
    if path := config.getoption("--record-times"):
        leads = not hasattr(config, "workerinput")
        config.pluginmanager.register(times.Times(path, leads=leads))


_MODULES, _TESTS = 100, 50  # that were imported, or have run, since the last freeze
_frozen = 0  # modules at the last freeze
_since = 0  # tests since the last freeze


def pytest_collection_finish():
    """Keep the tests and torch out of collections, which else take most of a second each."""
    _freeze()


def pytest_runtest_setup():
    """Keep libraries that tests have imported since out of them too, and what tests have kept.

    hookcli searches for what refers to a parameter, which takes long among many objects.
    """
    global _since
    _since += 1
    if len(sys.modules) > _frozen + _MODULES or _since > _TESTS:
        _freeze()


def _freeze():
    global _frozen, _since
    _frozen, _since = len(sys.modules), 0
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=TRACED)
def _traced():
    """Trace the next tests too if this one used Python's debugger, which ends all tracing."""
    trace = sys.gettrace()
    yield
    sys.settrace(trace)


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def report(self) -> dict:
        return json.loads(self.out)

    def error(self) -> tuple[str, str, str]:
        """The three lines, which must be the last of stderr and the only ones of their kind."""
        lines = self.err.splitlines()[-3:]
        assert len(lines) == 3, self.err
        assert lines[0].startswith("error: "), self.err
        assert lines[1].startswith("  --> "), self.err
        assert lines[2].startswith("hint: "), self.err
        assert "Traceback" not in self.err
        return lines[0][7:], lines[1][6:], lines[2][6:]


# What is read when a command runs, and not by Python or torch as they start.
_READ_LATE = {
    "COLUMNS", "GITHUB_ACTIONS", "CI", "NO_COLOR", "FORCE_COLOR", "TERM",
    "WHAT", "STEP",  # of tests/distributed/nets.py
}  # fmt: skip


_UNSET = {"COLUMNS", "GITHUB_ACTIONS", "NO_COLOR", "FORCE_COLOR"}


def forks(*, late_imports: bool = False) -> Server:
    """The server whose forks have torch already: one, whatever a test has set for its command.

    With `late_imports`, a command imports its own modules while it runs, as it does for a user.
    """
    late = {"HOOKCLI_TEST_LATE_IMPORTS": "1"} if late_imports else {}
    return server(*sorted({**_AT_START, **late}.items()))


def _clean() -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if k not in _UNSET}, "PYTHONPATH": str(ROOT)}


_AT_START = {k: v for k, v in _clean().items() if k != "PYTEST_CURRENT_TEST"}


def run_cli(
    *args: str, cwd: Path | None = None, stdin: str | None = None, real: bool = False, **env: str
) -> Result:
    """A command's result: in a fork that has torch already, or `real`, as a user starts it."""
    clean = _clean()
    if sys.platform == "linux" and not real and env.keys() <= _READ_LATE:
        args, folder = [*map(str, args)], Path.cwd() if cwd is None else cwd
        return Result(*forks().run(args, folder, {**clean, **env}, stdin, 120))
    done = subprocess.run(
        [sys.executable, "-m", "hookcli", *map(str, args)],
        cwd=cwd,
        env={**clean, **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def run_python(file: str, *args: str, cwd: Path, **env: str) -> Result:
    """`python FILE ARGS` in a folder: in a fork that has torch already."""
    clean, args = _clean(), [*map(str, args)]
    if sys.platform == "linux" and env.keys() <= _READ_LATE:
        done = forks().run([str(file), *args], cwd, {**clean, **env}, None, 120, program="python")
        return Result(*done)
    command = [sys.executable, file, *args]
    done = subprocess.run(
        command, cwd=cwd, env={**clean, **env}, capture_output=True, text=True, timeout=120
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path):
    """Run the command line in an empty folder."""

    def run(*args: str, cwd: Path = tmp_path, **more) -> Result:
        return run_cli(*args, cwd=cwd, **more)

    return run


@pytest.fixture
def model_file(tmp_path):
    """Write a model's source and give its path."""

    def write(source: str, name: str = "model.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + source)
        return path

    return write


HEAD = "import torch\nfrom torch import nn\n"


def attempt(source, *inputs, tensors="real", args=(), weights=None, **run):
    """One attempt, in this process: the report."""
    # Imported here, as they import torch: pure tests do without.
    from hookcli.config.constructor_args import parse_arguments
    from hookcli.engine.attempt import Session
    from hookcli.spec.inputs import parse_inputs
    from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec

    spec = Spec(
        "inspect",
        ModelSpec(str(source), parse_arguments(tuple(args)), weights),
        inputs=parse_inputs(tuple(inputs)),
        run=RunSpec(**run),
    )
    return Session(spec, Attempt(tensors), lambda *_: None).run().report
