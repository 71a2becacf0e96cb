"""Shell completion: the answer to each shell, and a bash that completes for real."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.cli.application import application
from hookcli.cli.commands import COMMANDS
from hookcli.formats.names import columns_of
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.rules.catalogue import CATALOGUE as RULES
from hookcli.spec.inputs import FLOATING
from hookcli.spec.losses import NAMES, OWN_LOSSES
from hookcli.spec.request import DEVICES
from tests.conftest import HEAD, ROOT

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def completed(line, monkeypatch):
    """What a shell may offer after a line; the last word of it is incomplete."""

    def values(shell, *words):
        if shell == "bash":
            monkeypatch.setenv("COMP_WORDS", "\n".join(words))
            monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", " ".join(words))
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        monkeypatch.setenv("_HOOKCLI_COMPLETE", f"complete_{shell}")
        status, out, err = line()
        assert (status, err) == (0, "")
        if shell != "zsh":
            return [row.partition("\t")[0] for row in out.splitlines()]
        if out == "_files\n":
            return []
        items = out.removeprefix("_arguments '*: :((").removesuffix("))'\n").splitlines()
        return [item[1:].partition('"')[0].replace("\\\\:", ":") for item in items]

    return values


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_shell_offers(shell, completed):
    def after(*words):
        return completed(shell, "hookcli", *words)

    assert after("") == list(COMMANDS)
    assert after("in") == ["inspect", "init"]
    assert after("inspect", "--ba") == ["--batch-size"]
    assert after("inspect", "--nproc") == []
    assert after("check", "--rule", "overfits") == ["overfits_one_batch"]
    assert after("check", "--rule", "") == list(RULES)
    assert after("trace", "--kinds", "") == ["all", *KINDS]
    assert after("trace", "--kinds", "forward,full") == [
        "forward,full_backward_pre", "forward,full_backward",
    ]  # fmt: skip
    assert "forward,forward" not in after("render", "r.json", "--kinds", "forward,")
    assert after("grads", "net.py", "--columns", "name,rat") == ["name,ratio"]
    assert after("inspect", "--columns", "") == list(columns_of("inspect"))
    assert after("inspect", "-f", "") == list(FORMATS)
    assert after("diff", "a.py", "b.py", "-f", "") == list(formats_of("diff"))
    assert after("list", "") == ["hooks", "actions", "rules", "formats"]
    assert after("list", "hooks", "-f", "") == ["table", "json"]
    assert after("schema", "r") == ["report", "run", "rundiff"]
    assert after("grads", "--loss", "") == [*OWN_LOSSES, *NAMES, "output:"]
    assert after("inspect", "--device", "") == list(DEVICES)
    assert after("inspect", "--dtype", "") == list(FLOATING)
    assert after("explain", "overf") == ["overfits_one_batch"]
    assert after("run", "--st") == ["--steps", "--stop-on", "--stream"]
    assert after("run", "--preset", "") == ["grads", "trace", "inspect"]
    assert after("run", "tr") == after("run", "train.py", "--st") == []  # the script's own
    assert after("run", "-m", "pkg.train", "--st") == []
    assert after("explain", "full_") == ["full_backward_pre", "full_backward"]
    assert after("inspect", "net") == after("inspect", "-c", "") == []  # files
    assert after("inspekt", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_words_with_a_colon_or_an_equals_sign(shell, completed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo.py").write_text(HEAD + "class Aa(nn.ReLU): pass\nclass B(nn.ReLU): pass\n")
    assert completed(shell, "hookcli", "explain", "rule:overf") == ["rule:overfits_one_batch"]
    assert len(completed(shell, "hookcli", "explain", "rule:")) == len(RULES)
    assert completed(shell, "hookcli", "inspect", "zoo.py:A") == ["zoo.py:Aa"]
    assert completed(shell, "hookcli", "grads", "--loss=su") == ["--loss=sum"]


def test_bash_replaces_only_the_word_after_a_colon_or_an_equals_sign(completed):
    assert completed("bash", "hookcli", "explain", "rule", ":", "overf") == ["overfits_one_batch"]
    assert len(completed("bash", "hookcli", "explain", "rule", ":")) == len(RULES)
    assert completed("bash", "hookcli", "grads", "--loss", "=", "su") == ["sum"]
    assert completed("bash", "hookcli", "grads", "p.q", ":", "Net", "--loss", "su") == ["sum"]


def parameters():
    from typer.main import get_command

    root = get_command(application(COMMANDS, called=COMMANDS))
    return {
        (name, parameter.name): parameter
        for name, command in root.commands.items()
        for parameter in command.params
    }


def test_each_choice_of_each_command_is_offered(completed):
    for (command, _), parameter in parameters().items():
        choices = parameter.type_descriptor.choices
        if choices and parameter.param_type_name == "option":
            for name in parameter.opts:
                assert completed("fish", "hookcli", command, name, "") == list(choices)


def test_each_option_of_each_command_is_offered_with_its_help(completed, line):
    for command in COMMANDS:
        names = {
            name
            for (owner, _), item in parameters().items()
            for name in item.opts
            if owner == command and name.startswith("--") and not item.hidden
        }
        assert set(completed("fish", "hookcli", command, "--")) == {*names, "--help"}
        assert all("\t" in row for row in line()[1].splitlines())


def test_fish_asks_whether_there_is_anything(line, monkeypatch):
    monkeypatch.setenv("_HOOKCLI_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    for words, status in (("hookcli li", 0), ("hookcli inspect ne", 1)):
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
        assert line() == (status, "", "")


@pytest.mark.parametrize(
    "text", ["", "hookcli", "hookcli 'a", 'hookcli "', "hookcli explain '", "''"]
)
@pytest.mark.parametrize("shell", SHELLS)
def test_an_odd_line_is_answered_in_silence(shell, text, line, monkeypatch):
    for words in (text, text + " ", text + " -"):
        monkeypatch.setenv("_HOOKCLI_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", "9")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
        status, _, err = line()
        assert (status, err) == (0, "")


def test_zsh_gets_one_quoted_list(line, monkeypatch):
    monkeypatch.setenv("_HOOKCLI_COMPLETE", "complete_zsh")
    for command in ("", *(f"{name} --" for name in COMMANDS)):
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"hookcli {command}")
        words = shlex.split(line()[1])
        assert words[0] == "_arguments"
        assert len(words) == 2


def test_completion_loads_neither_torch_nor_rich():
    code = (
        "import sys\n"
        "from hookcli.cli.main import guarded\n"
        "assert guarded([]) == 0\n"
        "print(sorted({'torch', 'rich', 'numpy', 'pydantic'} & set(sys.modules)))\n"
    )
    for words in ("hookcli inspect --d", "hookcli i"):
        environment = {"_HOOKCLI_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
        )
        assert "torch" not in done.stdout.splitlines()[-1], done.stderr
        assert "rich" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell(shell, line, monkeypatch):
    status, out, err = line("--show-completion", shell)
    assert (status, err) == (0, "")
    assert f"_HOOKCLI_COMPLETE=complete_{shell}" in out
    for instruction in (f"source_{shell}", f"{shell}_source"):
        monkeypatch.setenv("_HOOKCLI_COMPLETE", instruction)
        assert line() == (0, out, "")


@pytest.mark.parametrize(("shell", "file"), [
    ("bash", ".bash_completions/hookcli.sh"),
    ("zsh", ".zfunc/_hookcli"),
    ("fish", ".config/fish/completions/hookcli.fish"),
])  # fmt: skip
def test_a_script_is_installed_for_the_user(shell, file, line, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    status, out, err = line("--install-completion", shell)
    assert (status, err) == (0, "")
    assert out == f"installed {tmp_path / file}\nStart a new {shell} to use it.\n"
    assert "_HOOKCLI_COMPLETE" in (tmp_path / file).read_text()


def test_a_shell_that_is_unknown_is_refused(refused, line, monkeypatch):
    message, place, hint = refused("--show-completion", "tcsh")
    assert (message, place) == ("unknown shell 'tcsh'", "--show-completion tcsh")
    assert "`hookcli --show-completion bash`" in hint
    monkeypatch.setenv("_HOOKCLI_COMPLETE", "complete_tcsh")
    assert refused()[0] == "unknown completion instruction 'complete_tcsh'"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_real_bash_completes(tmp_path):
    program = tmp_path / "hookcli"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hookcli "$@"\n')
    program.chmod(0o755)
    script = """
eval "$(hookcli --show-completion bash)"
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _hookcli_completion hookcli "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "${COMPREPLY[*]}"
}
try hookcli sn
try hookcli explain rule : overf
try hookcli list hooks -f ""
complete -p hookcli
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "snapshot", "overfits_one_batch", "table json",
        "complete -o default -F _hookcli_completion hookcli",
    ]  # fmt: skip
    assert done.stderr == ""
