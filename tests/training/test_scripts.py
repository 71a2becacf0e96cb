"""Training scripts of many styles under `hookcli run`: nothing changes, and the report is true.

What is true comes from the scripts themselves: tests/scripts/expected.py was written by reading
them, and the figures of each step are measured by lines in their loops (oracle.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite
from pathlib import Path

import pytest

from tests.conftest import ROOT, Result, forks
from tests.scripts.expected import RANKS, REAL, SCRIPTS, Record

SCRIPTS_FOLDER = ROOT / "tests" / "scripts"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")
# Where a module has hooks, torch calls its forward in a function within _call_impl.
_INNER = re.compile(
    r'  File ".*/torch/nn/modules/module.py", line \d+, in (_call_impl|inner)\n.*\n.*\n'
)


@dataclass
class Run:
    result: Result
    weights: bytes | None
    report: dict | None
    truth: dict


def _environment(folder: Path) -> dict[str, str]:
    names = ("COLUMNS", "GITHUB_ACTIONS", "NO_COLOR", "FORCE_COLOR", "PYTEST_CURRENT_TEST")
    env = {name: value for name, value in os.environ.items() if name not in names}
    return {**env, "PYTHONPATH": str(ROOT), **dict.fromkeys(("WEIGHTS", "OUT", "CKPT"), "weights")}


def _arguments(args: tuple[str, ...], folder: Path) -> list[str]:
    """The script and its arguments; it has a copy of its own, as packages must be below."""
    source = SCRIPTS_FOLDER / args[args[0] == "-m"]
    if source.is_dir():
        shutil.copytree(source, folder / source.name)
    else:
        shutil.copy(source, folder)
    return [arg.replace("WEIGHTS", "weights") for arg in args]


def run(program: str, options: list[str], args: tuple[str, ...], folder: Path, real=False) -> Run:
    """A script in an empty folder: by "hookcli" run, or by the "oracle"."""
    folder.mkdir()
    arguments, env = _arguments(args, folder), _environment(folder)
    env |= {"HOOKCLI_TRUTH": str(folder / "truth.json")}
    if real:
        command = [sys.executable, *(["-m", "hookcli"] if program == "hookcli" else [])]
        done = subprocess.run(
            [*command, *options, *arguments],
            cwd=folder, env=env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        result = Result(done.returncode, done.stdout, done.stderr)
    else:
        result = Result(*forks().run([*options, *arguments], folder, env, None, 120, program))
    weights, report, truth = (folder / name for name in ("weights", "report.json", "truth.json"))
    return Run(
        result,
        weights.read_bytes() if weights.exists() else None,
        json.loads(report.read_text()) if report.exists() else None,
        json.loads(truth.read_text()) if truth.exists() else {},
    )


def _comparable(text: str, folder: Path) -> str:
    return _INNER.sub("", text.replace(str(folder), "FOLDER"))


def assert_the_same(plain: Run, seen: Run, first: Path, second: Path) -> None:
    assert seen.result.out == plain.result.out, seen.result.err
    assert _comparable(seen.result.err, second) == _comparable(plain.result.err, first)
    assert seen.result.status == plain.result.status
    assert seen.weights == plain.weights
    assert plain.weights is not None


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in REAL])
def test_a_script_is_unchanged_and_its_report_is_true(name, tmp_path):
    script = SCRIPTS[name]
    first, second = tmp_path / "oracle", tmp_path / "hookcli"
    plain = run("oracle", [], script.args, first)
    options = ["run", "-q", "--steps", "0-1,every:3", "-f", "json=report.json"]
    seen = run("hookcli", options, script.args, second)
    assert_the_same(plain, seen, first, second)
    report = seen.report
    assert plain.result.status == script.status
    assert report["tracking"].get("detached") is None
    assert (report["script"]["ended"], report["script"].get("error")) == (
        script.ended,
        script.error,
    )
    assert sorted(module["type"] for module in report["others"]) == sorted(script.others)
    assert len(report["records"]) == len(script.records)
    for expected, record in zip(script.records.values(), _in_order(report, script.records)):
        assert_true(expected, record, plain.truth[expected.root])


def _in_order(report: dict, expected: dict[str, Record]) -> list[dict]:
    """The records, each at the place of the expected one with its name, if there is one."""
    rest = list(report["records"])
    found = []
    for name in expected:
        row = next((row for row in rest if row["training"]["root"] == name), rest[0])
        rest.remove(row)
        found.append(row)
    return found


def assert_true(expected: Record, record: dict, truth: list[dict]) -> None:
    training = record["training"]
    optimizer = training["optimizer"]
    assert training["root_type"] == expected.type
    if expected.named:
        assert training["root"] == expected.root
    assert (optimizer or {}).get("type") == expected.optimizer
    assert tuple(training["wrappers"]) == expected.wrappers
    assert (training["unit"], training["total"]) == (expected.unit, expected.steps)
    assert training["skipped"] == len(expected.skipped)
    assert training["evaluations"] == expected.evaluations
    if optimizer is not None:
        assert (optimizer["merged"], optimizer["elsewhere"]) == (
            expected.merged,
            expected.elsewhere,
        )
    assert bool(training["compiled"]) == expected.compiled
    assert [row["step"] for row in training["steps"]] == list(range(expected.steps))
    for i, (row, true) in enumerate(zip_longest(training["steps"], truth)):
        _assert_step(row, true, expected, i)


def _assert_step(row: dict, true: dict, expected: Record, i: int) -> None:
    assert row.get("skipped", False) == (i in expected.skipped) == true.get("skipped", False)
    if expected.late and not i:
        assert (row["backwards"], row["loss"]) == (0, None)
        true = {**true, "loss": None, "backwards": 0}
    for name in ("forwards", "backwards"):
        number = getattr(expected, name)
        number = number[i] if isinstance(number, tuple) else number
        number = true.get(name, number)
        assert number is None or row[name] == number, (name, i)
    _equal(row["loss"], true["loss"], ("loss", i))
    if i in expected.skipped:
        return
    _equal(row["lr"], true["lr"], ("lr", i))
    scale = true["scale"] if true.get("grad_norm_is_scaled") else 1.0
    norm = true["grad_norms"][-1] if "grad_norms" in true else true["grad_norm"]
    _equal(row["grad_norm"], norm / scale, ("grad_norm", i))
    if true.get("scale") is not None:
        assert row["scale"] == true["scale"]
    if row["sampled"]:
        for name in ("weight_norm", "update_norm", "missing", "zero", "non_finite"):
            if name in true:
                _equal(row[name], true[name], (name, i))


def _equal(seen, true, what) -> None:
    if seen is None or true is None or isinstance(seen, str) or not isfinite(true):
        # JSON has no NaN: the report writes such numbers as strings
        assert str(seen).lower() == str(true).lower(), what
    else:
        assert seen == pytest.approx(true, rel=1e-6, abs=1e-9), what


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_a_script_that_starts_python_again_is_unchanged(name, tmp_path):
    args = SCRIPTS[name].args
    first, second = tmp_path / "plain", tmp_path / "hookcli"
    plain = run("python", [], args, first, real=True)
    seen = run("hookcli", ["run", "-q", "-f", "json=report.json"], args, second, real=True)
    assert_the_same(plain, seen, first, second)


def tensors(path: Path) -> list:
    """The values of a state_dict: its file has the name that it was given."""
    import torch

    state = torch.load(path, weights_only=True)
    return [(name, tensor.tolist()) for name, tensor in state.items()]


def _torchrun(args: list[str], folder: Path, env: dict[str, str]) -> Result:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", *args],
        cwd=folder, env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKS)
def test_two_ranks_are_unchanged_and_their_report_is_true(name, tmp_path):
    script = RANKS[name]
    (expected,) = script.records.values()
    path = str(SCRIPTS_FOLDER / script.args[0])
    env = {**_environment(tmp_path), "HOOKCLI_TRUTH": str(tmp_path / "truth.json")}
    plain = _torchrun(["-m", "tests.training.oracle", path], tmp_path, {**env, "WEIGHTS": "plain"})
    assert plain.status == 0, plain.err
    options = ["-m", "hookcli", "run", "-q", "-f", "json=report.json", path]
    seen = _torchrun(options, tmp_path, {**env, "WEIGHTS": "seen"})
    assert (seen.status, seen.out) == (0, plain.out), seen.err
    for rank in range(2):
        first, second = (tmp_path / f"{run}.{rank}" for run in ("plain", "seen"))
        assert tensors(first) == tensors(second)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["tracking"]["world_size"] == 2
    truth = json.loads((tmp_path / "truth.json.0").read_text())
    (record,) = report["records"]
    assert_true(expected, record, truth[expected.root])
