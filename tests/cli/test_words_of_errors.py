"""What the command line answers to mistakes, called directly: errors, hints, sides, scripts."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hookcli.cli.completion import answer as answer_file
from hookcli.cli.completion.answer import answer, bash_typed, candidates, line_typed
from hookcli.cli.diff_sides import parse_side, prefix_side
from hookcli.cli.help import next_command
from hookcli.cli.help.next_command import color_option, run_hint, unknown_command, with_command
from hookcli.cli.input_files import files_read
from hookcli.cli.run_error import run_error
from hookcli.cli.snapshot_request import seen_from, value_from, with_run
from hookcli.cli.training import launch as launch_file
from hookcli.cli.training.launch import interpreter_flags, launch
from hookcli.cli.training.script_request import _checked_script, _script
from hookcli.cli.usage_errors import usage_error
from hookcli.config.from_python import as_document
from hookcli.errors import ProblemsError, RequestError
from hookcli.report.findings import HookFault
from hookcli.report.report import ErrorInfo
from hookcli.report.values import Leaf
from hookcli.spec.hooks import ActionSpec, FunctionRef
from hookcli.spec.inputs import (
    DictSpec,
    FileSpec,
    FunctionSpec,
    InputSpec,
    ListSpec,
    TensorSpec,
    TupleSpec,
)  # fmt: skip
from hookcli.spec.request import Argument, Interpreter, ModelSpec, RunSpec, Spec
from tests.formats.fabricate import report


def refused(message, *arguments, option=None):
    error = SimpleNamespace(format_message=lambda: message, option_name=option)
    found = usage_error(error, list(arguments))
    return found.message, found.hint


@pytest.mark.parametrize(
    ("arguments", "said", "message", "hint"),
    [
        (
            ["explain"], "Missing argument 'TOPIC'. Choose from: hooks, rules",
            "missing argument 'TOPIC'", "run `hookcli explain hooks` or `hookcli explain rules`",
        ),
        (
            ["inspect", "--colr"], "No such option: --colr Did you mean --color?",
            "unknown option '--colr'", "--color",
        ),
        (
            ["check", "--rules", "x"], "No such option: --rules",
            "unknown option '--rules'", "list rules in a configuration",
        ),
        (
            ["run", "--stepz", "x"], "No such option: --stepz", "unknown option '--stepz'",
            "--steps",
        ),
        (
            ["run", "--epochs", "x"], "No such option: --epochs", "unknown option '--epochs'",
            "write the options of the script after its name",
        ),
        (
            ["inspect", "--loss", "x"], "No such option: --loss", "unknown option '--loss'",
            "omit it with inspect: --loss is an option of",
        ),
        (
            ["inspect", "--zzzz"], "No such option: --zzzz", "unknown option '--zzzz'",
            "run `hookcli inspect --help`",
        ),
        (
            ["grads", "--steps", "0"],
            "Invalid value for '--steps': Input should be greater than or equal to 1, got 0",
            "'--steps' must be at least 1, got '0'", "run `hookcli grads --help`",
        ),
        (
            ["grads", "--steps=x"],
            "Invalid value for '--steps': Input should be a valid integer, unable to parse",
            "'--steps' must be an integer, got 'x'", "",
        ),
        (
            ["grads"], "Invalid value for '--steps': Input should be a valid number, unable",
            "'--steps' must be a number", "",
        ),
        (
            ["inspect", "--tensors", "fakee"],
            "Invalid value for '--tensors': 'fakee' is not one of 'auto', 'fake', 'real'.",
            "'--tensors' must be one of auto, fake, real, got 'fakee'", "`fake`",
        ),
        (["inspect", "a", "b"], "Got unexpected extra argument(s) (b)",
         "unexpected argument 'b'", ""),
        (["inspect", "-i"], "Option '-i' requires an argument.",
         "option '-i' requires a value", ""),
        (["inspect", "-q=1"], "Option '-q' does not take a value.",
         "option '-q' does not accept a value", ""),
    ],
)  # fmt: skip
def test_a_refused_command_line_is_in_words_of_hookcli(arguments, said, message, hint):
    found, how = refused(said, *arguments)
    assert found == message
    assert hint in how


def test_an_option_before_the_command_gets_one():
    message, hint = refused("No such option: --input", "--input", "x", option="--input")
    assert message == "missing command"
    assert hint.startswith("run `hookcli ")
    assert hint.endswith(" --input x`")
    message, hint = refused("No such option: --zzz", "--zzz", option="--zzz")
    assert (message, hint) == ("unknown option '--zzz'", "run `hookcli --help`")


@pytest.mark.parametrize(
    ("arguments", "color"),
    [(["--color=never"], "never"), (["-q", "--color", "always"], "always"),
     (["--color"], "auto"), (["--color=x", "never"], "auto")],
)  # fmt: skip
def test_the_color_of_a_wrong_command_line(arguments, color):
    assert color_option(arguments) == color


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["net.py"], "missing command", "run `hookcli inspect net.py`"),
        (["net.py", "-q", "grads"], "missing command", "run `hookcli grads net.py -q`"),
        (["c.yaml"], "missing command", "run `hookcli trace -c c.yaml`"),
        (["c.yml", "check"], "missing command", "run `hookcli check -c c.yml`"),
        (["r.json"], "missing command", "run `hookcli render r.json`"),
        (["r.json", "diff", "b.json"], "missing command", "run `hookcli diff r.json b.json`"),
        (["models"], "missing command",
         "run `hookcli inspect models/a.py` or `hookcli inspect models/b.py`"),
        (["empty"], "missing command", "run `hookcli inspect empty`"),
        (["help"], "unknown command 'help'", "run `hookcli --help`"),
        (["help", "grads"], "unknown command 'help'", "run `hookcli grads --help`"),
        (["gards", "x"], "unknown command 'gards'", "`hookcli grads x`"),
        (["zzzzzz"], "unknown command 'zzzzzz'", "run `hookcli --help`"),
    ],
)  # fmt: skip
def test_a_first_word_that_is_no_command(tmp_path, monkeypatch, arguments, message, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "empty").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "models" / name).write_text("import torch\nclass A(torch.nn.Module): pass\n")
    commands = ("inspect", "grads", "check", "trace", "render", "diff", "run")
    found = unknown_command(arguments, commands)
    assert (found.message, hint in found.hint) == (message, True), found.hint


def test_many_commands_are_counted():
    assert run_hint([f"c{i}" for i in range(6)]).endswith("`c3` (2 more not shown)")


def test_a_hint_names_commands_only_for_what_was_typed():
    next_command.remember(["diff", "net.py:A?mode=eval", "b.json"])
    error = RequestError("two models", place="net.py:A", hint="name one")
    error.instead = ("net.py:B",)
    assert with_command(error).hint == "run `hookcli diff 'net.py:B?mode=eval' b.json`"
    other = RequestError("two models", place="c.yaml:3", hint="name one")
    other.instead = ("net.py:B",)
    assert with_command(other).hint == "name one"


# completion


def application():
    from hookcli.cli.application import application

    return application


def test_an_unknown_instruction_of_a_shell_is_refused(capsys):
    assert answer("complete_tcsh", {}, application()) == 2
    assert answer("explode_zsh", {}, application()) == 2
    assert "unknown completion instruction 'explode_zsh'" in capsys.readouterr().err


@pytest.mark.parametrize("instruction", ["source_zsh", "zsh_source"])
def test_the_script_of_a_shell_is_printed(capsys, instruction):
    assert answer(instruction, {}, application()) == 0
    assert "_HOOKCLI_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("action", "line", "status", "printed"),
    [
        ("get-args", "hookcli inspect --tens", 0, "--tensors"),
        ("is-args", "hookcli inspect --tens", 0, ""),
        ("is-args", "hookcli inspect --zzz", 1, ""),
        ("is-args", "hookcli nothing x", 1, ""),
    ],
)
def test_fish_asks_for_words_or_only_whether_there_are_any(capsys, action, line, status, printed):
    environment = {"_TYPER_COMPLETE_FISH_ACTION": action, "_TYPER_COMPLETE_ARGS": line}
    assert answer("complete_fish", environment, application()) == status
    assert capsys.readouterr().out.partition("\t")[0] == printed


def test_an_option_whose_value_is_incomplete():
    line = {"_TYPER_COMPLETE_ARGS": "hookcli inspect --tensors="}
    values = [item.value for item in candidates(line_typed(line), application())]
    assert "--tensors=fake" in values
    line = {"_TYPER_COMPLETE_ARGS": "hookcli inspect --tensors "}
    assert "fake" in [item.value for item in candidates(line_typed(line), application())]


def test_bash_passes_words_that_it_breaks():
    words = {"COMP_WORDS": "hookcli explain rule : fin", "COMP_CWORD": "4"}
    typed = bash_typed(words)
    assert (typed.words, typed.incomplete, typed.fixed) == (["explain"], "rule:fin", "rule:")
    assert bash_typed({}).incomplete == ""
    assert answer_file.split("a 'b c") == ["a", "b c"]
    assert line_typed({}).words == []


# the files that a run reads


def test_all_files_of_a_request_are_listed(tmp_path, monkeypatch):
    inputs = (
        ListSpec((FileSpec("a.pt"), TensorSpec((1,)))), TupleSpec((FunctionSpec("b.py", "f"),)),
        DictSpec((("k", FileSpec("c.npy")), ("l", TensorSpec((1,))))), TensorSpec((1,)),
    )  # fmt: skip
    called = {"x": [{"call": "d.py:f", "args": {"y": {"call": "e.py:g"}}}, 3], "call": 3}
    actions = (
        ActionSpec("call", FunctionRef("h.py:f")), ActionSpec("save", "out.pt"),
        ActionSpec("comm", {"name": "x", "around": FunctionRef("i.py:f")}),
        ActionSpec("replace", "j.pt"), ActionSpec("scale", 2.0),
    )  # fmt: skip
    spec = Spec(
        "trace", ModelSpec("net.py:A", args=(Argument(None, called, ""),), weights="w.pt"),
        inputs=tuple(InputSpec(None, item, "") for item in inputs),
        run=RunSpec(loss="loss.py:f"),
    )  # fmt: skip
    hooks = (SimpleNamespace(actions=actions),)
    found = files_read(replace(spec, hooks=hooks), "c.yaml")
    assert {"c.yaml", "net.py", "w.pt", "loss.py", "a.pt", "b.py", "c.npy", "d.py", "e.py",
            "h.py", "i.py"} <= set(found)  # fmt: skip
    assert "" not in found
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    assert "m/config.json" in files_read(Spec("trace", ModelSpec("hf:m")), None)


def test_a_snapshot_names_files_from_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b/m"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "net.py").write_text("")
    folder = tmp_path / "a"
    assert seen_from(folder, "net.py:A") == "../net.py:A"
    assert seen_from(folder, "net.py") == "../net.py"
    assert seen_from(folder, "package.module:A") == "package.module:A"
    assert seen_from(folder, str(tmp_path / "net.py")) == str(tmp_path / "net.py")
    assert seen_from(folder, "hf:b/m") == "hf:../b/m"
    assert seen_from(folder, f"hf:{tmp_path}/b/m") == f"hf:{tmp_path}/b/m"
    value = {"call": "net.py:f", "args": [{"call": 3}, "net.py:f"]}
    assert value_from(folder, value) == {"call": "../net.py:f", "args": [{"call": 3}, "net.py:f"]}


def test_a_snapshot_has_the_mode_and_the_seed_of_its_run():
    made = report("check")
    request = {"model": "net.py", "run": {"seed": 3}}
    assert with_run(request, made)["run"] == {"mode": made.run.mode, "seed": 3}
    as_is = replace(made, run=replace(made.run, mode="as-is", seed=1))
    assert with_run({}, as_is) == {"run": {"seed": 1}}
    assert with_run({"extends": "c.yaml"}, made) == {"extends": "c.yaml"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("net.py?mode=", "setting 'mode' requires a value", "`?mode=VALUE`"),
        ("net.py?mod=eval", "unknown setting 'mod'", "`mode`"),
        ("net.py?zzzzzzz=1", "unknown setting 'zzzzzzz'", "choose from"),
        ("net.py?mode=test", "unknown mode 'test'", "choose from train, eval, as-is"),
    ],
)
def test_a_setting_of_a_side_is_checked(text, message, hint):
    with pytest.raises(RequestError) as caught:
        parse_side(text)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_an_error_of_a_side_names_it():
    problems = [RequestError("no", place="c.yaml:1", hint="x"),
                RequestError("nor this", place="c.yaml:2", hint="x")]  # fmt: skip
    error = prefix_side(ProblemsError(problems), "B")
    assert [problem.message for problem in problems] == ["B: no", "B: nor this"]
    assert error.message.startswith("B: ")
    assert prefix_side(RequestError("no", place="x", hint="y"), "A").message == "A: no"


# the error of a partial report


def failed(phase="forward", layer="fc", kind="RuntimeError", message="no\nmore", **more):
    known = {"call": 0, "inputs": (), "place": None, "hook": None, "hint": None, **more}
    run = known.pop("run", {})
    made = report("inspect", run={k: v for k, v in run.items() if k != "tensors"})
    made = replace(made, run=replace(made.run, **run))
    return run_error(replace(made, error=ErrorInfo(
        phase, layer, known["call"], known["inputs"], kind, message, known["place"],
        hook=known["hook"], hint=known["hint"],
    )))  # fmt: skip


FAULT = HookFault("hooks.yaml:3", "forward", "fc", "changed its input", "return it", None)


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({}, "RuntimeError in forward, in 'fc'", "run with `-v` for the traceback"),
        ({"layer": "", "call": 2}, "in forward, in the model itself", "-v"),
        ({"layer": "gone", "call": 2}, "RuntimeError in forward, in 'gone', call 2: no more", ""),
        ({"kind": "ModelError"}, "in forward, in 'fc'", ""),
        ({"kind": "died"}, "no\nmore, in forward, in 'fc'", "faulthandler"),
        ({"phase": "loss", "layer": None, "run": {"loss": "mse_loss"}},
         "RuntimeError in loss mse_loss: no more", "compare the output"),
        ({"phase": "backward", "message": "modified by an inplace operation"}, "in backward",
         "look for in-place changes"),
        ({"phase": "package", "layer": None, "kind": "ModelError"}, "in package: no more",
         "remove what pickle refuses"),
        ({"kind": "FakeDoubtError", "run": {"tensors": "fake"}}, "FakeDoubtError in forward",
         "remove `--tensors fake`"),
        ({"hint": "mend it"}, "in forward", "mend it"),
        ({"hook": FAULT}, "in forward", "return it"),
        ({"inputs": (Leaf("", (2, 4), "float32"),)}, "in forward", "look at this line"),
    ],
)  # fmt: skip
def test_the_error_of_a_run_names_the_phase_and_the_layer(given, message, hint):
    found = failed(**given)
    assert found.message.startswith(message) or message in found.message
    assert hint in found.hint


def test_a_report_without_an_error_has_none():
    with pytest.raises(ValueError, match="no error"):
        run_error(report("inspect"))


# hookcli run


@pytest.mark.parametrize(
    ("module", "command", "message"),
    [
        ("", (), "-m requires the name of a module, got ''"),
        ("-x", (), "-m requires the name of a module, got '-x'"),
        (None, (), "missing SCRIPT"),
        (None, ("-",), "a script cannot be read from stdin"),
        (None, ("absent.py",), "absent.py"),
        (None, ("",), "''"),
        (None, ("folder",), "folder is a folder without __main__.py"),
        (None, ("loop.py",), "cannot read loop.py"),
    ],
)
def test_what_is_no_script_is_refused(tmp_path, monkeypatch, module, command, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    with pytest.raises(RequestError) as caught:
        _script(SimpleNamespace(module=module, command=command))
    assert message in caught.value.message


def test_a_folder_with_a_main_file_is_a_script(tmp_path):
    (tmp_path / "__main__.pyc").write_bytes(b"")
    assert _checked_script(str(tmp_path)) is None
    assert _script(SimpleNamespace(module="a.b", command=("-x",))).is_module


@pytest.mark.parametrize(
    ("orig", "argv", "flags"),
    [
        (["python", "-m", "hookcli", "run"], ["x", "run"], []),
        (["python", "-W", "error", "-m", "hookcli", "run"], ["x", "run"], ["-W", "error"]),
        (["python", "-um", "hookcli", "run"], ["x", "run"], ["-u"]),
        (["python", "/bin/hookcli", "run"], ["/bin/hookcli", "run"], []),
    ],
)
def test_the_flags_of_python_are_passed_on(monkeypatch, orig, argv, flags):
    monkeypatch.setattr(sys, "orig_argv", orig)
    monkeypatch.setattr(sys, "argv", argv)
    assert interpreter_flags() == flags


@pytest.mark.parametrize(
    ("name", "is_module", "eager", "expected"),
    [
        ("train.py", False, False, ["train.py", "a"]),
        ("-train.py", False, True, ["--", "-train.py", "a"]),
        ("pkg.train", True, False, ["-m", "pkg.train", "a"]),
    ],
)
def test_hookcli_run_that_is_switched_off_is_plain_python(
    monkeypatch, name, is_module, eager, expected
):
    ran = []
    monkeypatch.setattr(launch_file.os, "execve", lambda *given: ran.append(given))
    monkeypatch.setenv("HOOKCLI_RUN", "0")
    monkeypatch.delenv("TORCHDYNAMO_DISABLE", raising=False)
    monkeypatch.setenv("__PYVENV_LAUNCHER__", "/own")
    script = SimpleNamespace(name=name, arguments=("a",), is_module=is_module)
    job = SimpleNamespace(script=script, training=SimpleNamespace(eager=eager))
    launch(SimpleNamespace(job=job, python=Interpreter("/py", "--python", "x")))
    ((program, command, environment),) = ran
    assert (program, command[-len(expected) :]) == ("/py", expected)
    assert environment.get("TORCHDYNAMO_DISABLE") == ("1" if eager else None)
    assert "__PYVENV_LAUNCHER__" not in environment


def test_a_script_whose_python_cannot_start_is_told(monkeypatch):
    def execve(*given):
        raise PermissionError(13, "Permission denied", "/py")

    monkeypatch.setattr(launch_file.os, "execve", execve)
    request = SimpleNamespace(python=Interpreter("/py", "--python", "--python /py"))
    with pytest.raises(RequestError, match="cannot start /py: Permission denied"):
        launch_file._replace(request, ["/py"], {})


def test_a_configuration_in_python_has_lists_for_tuples():
    assert as_document("c.yaml") is None
    assert as_document(("finite", {"rule": "dtype", "at": ("a",)})) == {
        "checks": [{"rule": "finite"}, {"rule": "dtype", "at": ["a"]}]
    }
    assert as_document({"run": {"steps": 2}, "inputs": ("2x3",)}) == {
        "run": {"steps": 2}, "inputs": ["2x3"],
    }  # fmt: skip
