"""The command line of `hookcli run`: what is hookcli's, what is the script's, and its errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hookcli.cli.training import launch
from hookcli.spec.hooks import Match
from hookcli.spec.training import parse_steps
from tests.conftest import run_cli


@pytest.fixture
def request_of(line, monkeypatch, tmp_path):
    """The request that a command line comes to, in a folder with a script and a package."""
    (tmp_path / "train.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "train.py").write_text("")
    (tmp_path / "hooks.yaml").write_text(
        "hooks:\n- {kind: forward, at: fc, root: 'net*'}\n"
        "- {kind: forward, at: fc, root: {type: Generator}}\n"
        "checks: [{rule: finite}]\nfail_on: warning\n"
    )
    (tmp_path / "model.yaml").write_text("model: train.py:Net\nrun: {seed: 3, python: python3}\n")
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(launch, "launch", lambda request: seen.append(request) or 0)

    def asked(*args):
        status, out, err = line("run", *args)
        assert (status, out) == (0, ""), err
        return seen[-1], err

    return asked


@pytest.mark.parametrize(
    ("args", "name", "arguments", "is_module"),
    [
        (["train.py"], "train.py", (), False),
        (
            ["train.py", "--steps", "all", "-q", "--"],
            "train.py",
            ("--steps", "all", "-q", "--"),
            False,
        ),
        (["--", "train.py", "--", "-h"], "train.py", ("--", "-h"), False),
        (["-q", "--steps=3", "./train.py", "-m", "x"], "./train.py", ("-m", "x"), False),
        (["pkg", "x"], "pkg", ("x",), False),
        (["-m", "pkg.train", "--steps", "-c", "x"], "pkg.train", ("--steps", "-c", "x"), True),
        (["-mpkg.train", "-q"], "pkg.train", ("-q",), True),
        (["-qm", "pkg.train", "train.py"], "pkg.train", ("train.py",), True),
        (["-qmpkg.train", "--", "-x"], "pkg.train", ("--", "-x"), True),
        (["--max-steps", "2", "-m", "pkg", "--max-steps"], "pkg", ("--max-steps",), True),
        (["-c", "hooks.yaml", "--root", "-m", "train.py", "-v"], "train.py", ("-v",), False),
    ],
)
def test_all_from_the_script_on_belongs_to_the_script(args, name, arguments, is_module, request_of):
    Path("pkg/__main__.py").write_text("")
    script = request_of(*args)[0].job.script
    assert (script.name, script.arguments, script.is_module) == (name, arguments, is_module)


def test_the_defaults(request_of):
    request, err = request_of("train.py")
    job, end = request.job, request.end
    assert job.training.steps == parse_steps("0-2,every:100", "")
    assert (job.training.max_steps, job.training.stop_on, job.training.roots) == (None, None, ())
    assert (job.spec.command, [hook.kind for hook in job.spec.hooks]) == (
        "grads",
        ["tensor", "node"],
    )
    assert (job.batch, job.training.eager, end.targets, end.fail_on) == (None, False, (), "never")
    assert (request.python.path, err) == (sys.executable, "")


def test_the_flags(request_of, tmp_path):
    request, _ = request_of(
        "--steps", "all", "--max-steps", "7", "--stop-on", "nonfinite", "--root", "net*", "--root",
        "G", "--preset", "trace", "--eager", "-f", "json=a.json", "-f", "table",
        "--stream", "e.jsonl", "--fail-on", "error", "train.py",
    )  # fmt: skip
    training, spec, end = request.job.training, request.job.spec, request.end
    assert (training.max_steps, training.stop_on, training.eager) == (7, "nonfinite", True)
    assert training.roots == ("net*", "G")
    assert 123 in training.steps
    assert request.job.batch == str(tmp_path / "hookcli-batch.pt")
    assert [hook.kind for hook in spec.hooks] == [
        "forward_pre",
        "forward",
        "tensor",
        "post_accumulate_grad",
    ]
    assert spec.stream == str(tmp_path / "e.jsonl")
    assert [(t.format, t.file) for t in end.targets] == [
        ("json", tmp_path / "a.json"),
        ("table", None),
    ]
    assert end.fail_on == "error"


def test_the_output_is_json_unless_a_format_is_named(request_of, tmp_path):
    (target,) = request_of("-o", "a", "train.py")[0].end.targets
    assert (target.format, target.file) == ("json", tmp_path / "a")
    (target,) = request_of("-o", "a", "-f", "markdown", "train.py")[0].end.targets
    assert target.format == "markdown"


def test_a_configuration_has_hooks_checks_and_roots(request_of):
    request, err = request_of("-c", "hooks.yaml", "train.py")
    spec = request.job.spec
    assert [hook.root for hook in spec.hooks] == [Match(pattern="net*"), Match(type="Generator")]
    assert [check.rule for check in spec.checks] == ["finite"]
    assert (request.end.fail_on, err) == ("warning", "")
    assert (
        len(request_of("-c", "hooks.yaml", "--kinds", "forward", "train.py")[0].job.spec.hooks) == 3
    )


def test_a_configuration_of_a_model_is_used_as_far_as_possible(request_of):
    request, err = request_of("-c", "model.yaml", "train.py")
    assert err == (
        "note: hookcli run ignores `model` and `run` of model.yaml: "
        "the script builds the model and its batches\n"
    )
    assert request.python.source == "run.python"


def test_each_rank_has_its_own_files(request_of, monkeypatch, tmp_path):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    for name, value in zip(names, ("1", "2", "1", "localhost", "29500"), strict=True):
        monkeypatch.setenv(name, value)
    request, _ = request_of("--stream", "e.jsonl", "--stop-on", "nonfinite", "train.py")
    assert request.job.spec.stream == str(tmp_path / "e.rank1.jsonl")
    assert request.job.batch == str(tmp_path / "hookcli-batch.rank1.pt")
    assert request.end.rank == 1


@pytest.mark.parametrize(
    ("args", "kept", "is_saved"),
    [
        ((), 64 << 20, False),
        (("--stop-on", "spike"), 64 << 20, True),
        (("--keep-batches", "1.5KiB"), 1536, True),
        (("--keep-batches", "2 GB"), 2 * 10**9, True),
        (("--keep-batches", "0"), 0, False),
        (("--stop-on", "spike", "--keep-batches", "0"), 0, True),
    ],
)
def test_batches_that_are_kept(request_of, tmp_path, args, kept, is_saved):
    request, _ = request_of(*args, "train.py")
    assert request.job.training.keep_batches == kept
    assert request.job.batch == (str(tmp_path / "hookcli-batch.pt") if is_saved else None)


ERRORS = {
    ("--keep-batches", "64", "train.py"): (
        "--keep-batches must be a size, got '64'",
        "--keep-batches 64",
        "use a number with a unit, such as `64MiB` or `1GB`; 0 keeps none",
    ),
    (): (
        "missing SCRIPT",
        "hookcli run",
        "name a script, as in `hookcli run train.py`",
    ),
    ("none.py",): (
        "file not found: none.py",
        "none.py",
        "check the name, or run a module",
    ),
    ("pkg",): (
        "pkg is a folder without __main__.py",
        "pkg",
        "run `hookcli run pkg/train.py`",
    ),
    ("-",): (
        "a script cannot be read from stdin",
        "SCRIPT -",
        "write the script to a file",
    ),
    ("locked.py",): (
        "cannot read locked.py: ",
        "locked.py",
        "check the name",
    ),
    ("-m", "none_such.x"): (
        "module not found: none_such.x",
        "-m none_such.x",
        "run the command in",
    ),
    ("-m", ""): (
        "-m requires the name of a module, got ''",
        "hookcli run -m ''",
        "write `-m package",
    ),
    ("--steps", "3-1", "train.py"): (
        "the range 3-1 is empty",
        "--steps 3-1",
        "use a selection",
    ),
    ("--steps", "x", "train.py"): (
        "'x' is not a step, a range or every:N",
        "--steps x",
        "use a",
    ),
    ("--preset", "grad", "train.py"): (
        "'--preset' must be one of",
        "hookcli run --preset",
        "try `grads`",
    ),
    ("--eager", "--compiled", "layers", "train.py"): (
        "--eager cannot be combined with --compiled",
        "--compiled layers",
        "remove `--compiled`",
    ),
    ("--compiled", "all", "train.py"): (
        "'--compiled' must be one of layers, statistics, eager-samples, got 'all'",
        "hookcli run --compiled",
        "",
    ),
    ("--verify-neutral", "train.py"): (
        "--verify-neutral compares hooks in compiled code, and requires --compiled",
        "--verify-neutral",
        "add `--compiled layers`",
    ),
    ("--max-steps", "0", "train.py"): (
        "'--max-steps'",
        "hookcli run --max-steps 0",
        "run `hookcli",
    ),
    ("--kinds", "forwards", "train.py"): (
        "unknown kind 'forwards'",
        "--kinds forwards",
        "try `forward`",
    ),
    ("-o", "train.py", "train.py"): (
        "cannot write train.py: it is the same file",
        "train.py",
        "choose",
    ),
    ("-o", "no/a", "train.py"): (
        "cannot write no/a: folder not found",
        "no/a",
        "choose",
    ),
    ("--stream", "-", "train.py"): (
        "--stream cannot write to stdout",
        "--stream -",
        "give a file",
    ),
    ("--lr", "3", "train.py"): (
        "unknown option '--lr'",
        "hookcli run --lr 3 train.py",
        "write the options of",
    ),
    ("--python", "/none", "train.py"): (
        "file not found: /none",
        "--python /none",
        "pass the path",
    ),
}


@pytest.mark.parametrize("args", ERRORS)
def test_errors_are_three_lines(args, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "locked.py").symlink_to("/proc/self/mem/x")
    monkeypatch.setattr(launch, "launch", lambda request: 77)
    status, out, err = line("run", *args)
    assert (status, out) == (2, "")
    lines = err.splitlines()
    assert len(lines) == 3, err
    for row, begin, words in zip(lines, ("error: ", "  --> ", "hint: "), ERRORS[args], strict=True):
        assert row.startswith(begin + words)


def test_a_root_is_an_error_in_other_commands(line, tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text("model: m.py\nhooks: [{kind: forward, at: fc, root: a}]\n")
    (tmp_path / "m.py").write_text("")
    monkeypatch.chdir(tmp_path)
    status, _, err = line("trace", "-c", "c.yaml")
    assert status == 2
    assert "trace does not support key 'root' of a hook" in err
    assert "c.yaml:2: hooks[0]" in err


@pytest.mark.parametrize("value", ["3", "[a]", "{kind: x}", "''", "{type: 3}"])
def test_a_root_is_a_pattern_or_a_type(value, line, tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text(f"hooks: [{{kind: forward, at: fc, root: {value}}}]\n")
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    status, _, err = line("run", "-c", "c.yaml", "train.py")
    assert (status, err.count("error:")) == (2, 1 + (value == "{kind: x}")), err


@pytest.mark.parametrize(
    ("before", "flags"),
    [
        (["-m", "hookcli"], []),
        (["-u", "-W", "error", "-m", "hookcli"], ["-u", "-W", "error"]),
        (["-Xdev", "-OOm", "hookcli"], ["-Xdev", "-OO"]),
        (["/venv/bin/hookcli"], []),
        (["-sE", "/venv/bin/hookcli"], []),
    ],
)
def test_flags_of_python_are_kept(before, flags, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", *before, "run", "-m", "hookcli", "x"])
    monkeypatch.setattr(sys, "argv", ["hookcli", "run", "-m", "hookcli", "x"])
    assert launch.interpreter_flags() == flags


def test_eager_disables_the_compiler(line, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(launch, "_replace", lambda *args: seen.append(args) or 0)
    monkeypatch.setattr(launch, "can_supervise", lambda: False)
    for options in ([], ["--eager"]):
        assert line("run", *options, "train.py")[0] == 0
        os.close(int(seen[-1][1][-2]))
    (_, _, plain), (_, _, eager) = seen
    assert {k: v for k, v in eager.items() if plain.get(k) != v} == {"TORCHDYNAMO_DISABLE": "1"}


def test_help_is_hookcli_s_before_the_script():
    assert run_cli("run", "-h").out.startswith("Usage: hookcli run")


@pytest.mark.parametrize(
    ("head", "notes"),
    [("", ["--stop-on", "-o", "--steps"]), ("import sys\nprint(sys.argv[1:])\n", [])],
    ids=["a script without arguments", "one that reads them"],
)
def test_options_behind_a_script_that_reads_none_are_told(tmp_path, head, notes):
    (tmp_path / "train.py").write_text(f"{head}print('done')\n")
    line = ("train.py", "--stop-on", "nonfinite", "-o", "x", "--epochs", "3", "--steps=0-2")
    done = run_cli("run", *line, cwd=tmp_path)
    assert done.status == 0
    assert done.out.endswith("done\n")
    told = [text for text in done.err.splitlines() if "put it before the script's name" in text]
    assert told == [
        f"note: {name} is an argument of the script: put it before the script's name"
        for name in notes
    ]
