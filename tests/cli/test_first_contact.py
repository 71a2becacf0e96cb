"""No arguments, a model without a command, a wrong name: each hint is a command to type."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given, settings, strategies as st

from hookcli.cli.commands import COMMANDS, RUNNING
from hookcli.cli.help.next_command import color_option, remember, unknown_command, with_command
from hookcli.errors import RequestError
from tests.conftest import HEAD

NET = HEAD + "class Net(nn.ReLU): pass\n"
MODELS = sorted(RUNNING - {"diff"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "zoo.py").write_text(HEAD + "".join(f"class {n}(nn.ReLU): pass\n" for n in "ABC"))
    (tmp_path / "script.py").write_text("print(1)\n")
    (tmp_path / "c.yaml").write_text("model: net.py\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands_in(hint):
    return [shlex.split(command)[1:] for command in re.findall("`(hookcli [^`]*)`", hint)]


def test_without_arguments_it_says_what_it_is_and_what_to_try(line):
    status, out, err = line()
    assert (status, err) == (0, "")
    assert len(out.splitlines()) <= 12
    tried = re.findall(r"^  (hookcli \w+ model.py) ", out, re.M)
    assert len(tried) == 3
    assert all(command.split()[1] in COMMANDS for command in tried)
    assert "hookcli --help" in out


@pytest.mark.parametrize(
    ("arguments", "then"),
    [
        (["net.py"], ["inspect", "net.py"]),
        (["net.py:Net", "--depth", "2"], ["inspect", "net.py:Net", "--depth", "2"]),
        (["nothing.py"], ["inspect", "nothing.py"]),
        (["package.module:Net"], ["inspect", "package.module:Net"]),
        (["net.py", "grads", "-q"], ["grads", "net.py", "-q"]),
        (["sub"], ["inspect", "sub/inner.py"]),
        (["c.yaml"], ["trace", "-c", "c.yaml"]),
        (["report.json", "-f", "tree"], ["render", "report.json", "-f", "tree"]),
        (["--depth", "2", "net.py"], ["inspect", "--depth", "2", "net.py"]),
        (["-c", "c.yaml"], ["inspect", "-c", "c.yaml"]),
        (["--kinds", "forward", "net.py"], ["trace", "--kinds", "forward", "net.py"]),
        (["--preset", "grads", "net.py"], ["init", "--preset", "grads", "net.py"]),
    ],
)
def test_a_model_without_a_command_gives_the_command(arguments, then, folder, refused):
    message, place, hint = refused(*arguments)
    assert message == "missing command"
    assert place == shlex.join(["hookcli", *arguments])
    assert commands_in(hint) == [then]


@given(
    word=st.sampled_from(["net.py", "a b.py", "x/y.pt", "p.q:Net", "it's.py"]),
    rest=st.lists(st.text("ab-= '$`;*", min_size=1, max_size=6), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_the_command_of_a_hint_is_copied_whatever_the_arguments_are(word, rest):
    error = unknown_command([word, *rest], COMMANDS)
    command = error.hint.removeprefix("run `").removesuffix("`")
    assert shlex.split(command) == ["hookcli", "inspect", word, *rest]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_command_gives_the_whole_line(command, refused):
    wrong = command[:-1] + "_"
    message, _, hint = refused(wrong, "net.py", "--depth", "2")
    assert message == f"unknown command '{wrong}'"
    assert commands_in(hint) == [[command, "net.py", "--depth", "2"]]


def test_help_as_a_command_leads_to_the_option(refused):
    assert commands_in(refused("help")[2]) == [["--help"]]
    assert commands_in(refused("help", "diff")[2]) == [["diff", "--help"]]
    assert commands_in(refused("xyzzy")[2]) == [["--help"]]


@pytest.mark.parametrize("command", [*MODELS, "snapshot"])
def test_without_a_model_the_models_of_the_folder_are_named(command, folder, refused):
    message, place, hint = refused(command, "--seed", "1")
    assert (message, place) == ("missing MODEL", f"hookcli {command} --seed 1")
    assert commands_in(hint) == [[command, "--seed", "1", name] for name in ("net.py", "zoo.py")]


def test_a_folder_without_models_gives_the_two_ways(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    assert refused("grads")[2] == (
        "name a model, as in `hookcli grads model.py`, or a configuration with `-c FILE`"
    )


@pytest.mark.parametrize(
    ("arguments", "then"),
    [
        (["inspect", "nett.py", "-q"], [["inspect", "net.py", "-q"]]),
        (["grads", "nett.py:Net"], [["grads", "net.py:Net"]]),
        (["trace", "zzzzzz"], [["trace", "net.py"], ["trace", "zoo.py"]]),
        (["init", "sub"], [["init", "sub/inner.py"]]),
        (["check", "sub"], [["check", "sub/inner.py"]]),
        (["diff", "nett.py?mode=train", "zoo.py:A"], [["diff", "net.py?mode=train", "zoo.py:A"]]),
        (["diff", "net.py", "sub/iner.py"], [["diff", "net.py", "sub/inner.py"]]),
    ],
)
def test_a_file_that_is_not_found_gives_commands_with_one_that_is(arguments, then, folder, refused):
    assert commands_in(refused(*arguments)[2]) == then


def test_several_models_in_a_file_give_a_command_for_each(folder, cli):
    hint = cli("check", "zoo.py", "--seed", "1", cwd=folder).error()[2]
    assert commands_in(hint) == [["check", f"zoo.py:{name}", "--seed", "1"] for name in "ABC"]
    hint = cli("grads", "zoo.py:AA", cwd=folder).error()[2]
    assert commands_in(hint) == [["grads", "zoo.py:A"]]


def test_a_place_that_was_not_typed_keeps_its_hint():
    remember(["inspect", "-c", "c.yaml"])
    error = RequestError("x", place="c.yaml:1: model", hint="look", instead=["net.py"])
    assert with_command(error).hint == "look"


def test_an_error_keeps_what_to_type_instead_between_processes():
    import pickle

    error = RequestError("x", place="p", hint="h", instead=["a", "b"])
    assert pickle.loads(pickle.dumps(error)).instead == ("a", "b")


def test_an_option_of_another_command_is_unknown(refused):
    message, _, hint = refused("inspect", "net.py", "--nproc", "2")
    assert message == "unknown option '--nproc'"
    assert hint == "omit it with inspect: --nproc is an option of grads, trace, check, snapshot"


@pytest.mark.parametrize(
    ("arguments", "color"),
    [
        (["--color", "always", "--zzz"], "always"),
        (["inspect", "--color=never"], "never"),
        (["inspect", "--color", "blue"], "auto"),
        (["inspect", "--color"], "auto"),
        (["inspect"], "auto"),
    ],
)
def test_a_command_line_that_is_wrong_still_says_its_colour(arguments, color, line):
    assert color_option(arguments) == color
    _, _, err = line(*arguments, "--zzz")
    assert ("\x1b[31merror:\x1b[0m" in err) == (color == "always")


@pytest.mark.parametrize(
    ("environment", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_the_environment_decides_the_colour_as_in_python(environment, colored, line, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[31m" in line("xyzzy")[2]) == colored
    assert "\x1b[" not in line("inspect", "--zzz", "--color", "never")[2]
    assert "\x1b[31m" in line("inspect", "--zzz", "--color", "always")[2]
