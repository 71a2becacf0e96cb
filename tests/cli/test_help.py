"""What `--help` and `--help-all` say, at 80 columns: nothing cut, every flag, the defaults."""

from __future__ import annotations

import functools
import json
import re
import shlex

import pytest

from hookcli.cli.commands import COMMANDS, GROUPS, RUNNING as RUN_A_MODEL
from hookcli.cli.flags.signatures import SECTIONS
from hookcli.cli.help.short_help import METAVARS, SHORT, TEXTS
from hookcli.formats.names import columns_of, sorts_of
from hookcli.formats.registry import FORMATS
from tests.conftest import SAMPLES

RUNNING = ["inspect", "grads", "trace"]
PREFIXES = ("finite_", "weight_", "output_", "input_")  # of columns that help does not list
SHARED = {
    "--config", "--arg", "--argv", "--method", "--weights", "--trust", "--data-only", "--python",
    "--input",
    "--target", "--batch-size", "--device", "--dtype", "--mode",
    "--seed", "--loss", "--steps", "--no-grad", "--timeout", "--max-memory", "--fail-on", "--depth",
    "--only", "--columns", "--sort", "--format", "--output", "--quiet", "--verbose", "--color",
    "--watch", "--help", "--help-all",
}  # fmt: skip
BACKWARD = {"--compiled", "--flops", "--verify-neutral", "--nproc", "--parallel"}
FLAGS = {
    "inspect": SHARED | {"--compiled", "--tensors", "--memory", "--what-if", "--no-values"},
    "grads": SHARED | BACKWARD | {"--per-sample"},
    "trace": SHARED | BACKWARD | {"--tensors", "--kinds", "--stream", "--phase"},
    "check": SHARED - {"--depth", "--columns", "--sort"}
    | BACKWARD
    | {"--baseline", "--update-baseline", "--against", "--rule"},
    "snapshot": SHARED - {"--watch", "--only", "--columns", "--sort", "--format", "--fail-on"}
    | {"--force", "--nproc", "--parallel"},
    "run": {
        "--config",
        "--python",
        "--eager",
        "--compiled",
        "--steps",
        "--preset",
        "--kinds",
        "--root",
        "--max-steps",
        "--no-children",
        "--verify-neutral",
        "--stop-on",
        "--keep-batches",
        "--verify-neutral",
        "--notify",
        "--on-finding",
        "--against",
        "--fail-on",
        "--stream",
        "--format",
        "--output",
        "--quiet",
        "--verbose",
        "--color",
        "--help",
        "--help-all",
    },
}


@pytest.fixture
def helped(line, monkeypatch):
    def text(*command, short=False):
        monkeypatch.setenv("COLUMNS", "80")
        status, out, err = line(*command, "--help" if short or not command else "--help-all")
        assert (status, err) == (0, "")
        return out

    return text


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_into_80_columns_and_cuts_nothing(command, helped):
    for short in (True, False):
        out = helped(*([command] if command else []), short=short)
        assert max(map(len, out.splitlines())) <= 80
        several = "[ARGS]...", "REPORT.json...", "RUN.json..."
        assert "..." not in functools.reduce(lambda text, one: text.replace(one, ""), several, out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_usual_options_on_at_most_15_lines(command, helped):
    out, whole = helped(command, short=True), helped(command)
    if command not in SHORT:
        assert out == whole
        return
    lines = sections(out)["Options"].splitlines()
    rows = [row for row in lines if row.strip()]
    assert len(rows) <= 15
    assert all(re.match(r"  (-|  )", row) for row in rows)  # no text is wrapped
    flags = [re.search(r"--?[a-z][a-z-]*", row)[0] for row in rows]
    assert len(flags) == len(rows)
    assert flags[-2:] == ["-h", "--help-all"]
    assert all(re.search(rf"^  {flag}\b", whole, re.M) for flag in flags)
    assert len(whole.splitlines()) > len(out.splitlines())
    assert sections(out)["Examples"] == sections(whole)["Examples"]


def test_the_texts_of_the_short_help_are_all_used():
    assert {*TEXTS} - {"a", "b"} == {name for names in SHORT.values() for name in names}
    assert {*METAVARS} <= {*TEXTS}


def sections(text):
    """The lines of each section of a help page, by its heading."""
    parts = re.split(r"^(\S.*):\n", text.partition("\n\n")[2], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_help_names_every_command_in_its_group_and_in_order(helped):
    page = sections(helped())
    assert list(page) == [*GROUPS, "Options", "Examples", "Documentation"]
    for group, names in GROUPS.items():
        assert re.findall(r"^  (\w+)", page[group], re.M) == list(names)
    assert "docs/" in page["Documentation"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_is_in_a_section_and_the_sections_are_in_order(command, helped):
    page = sections(helped(command))
    names = [name for name in page if name not in {"Arguments", "Examples"}]
    assert names == [name for name in SECTIONS if name in names]
    assert "--help" in page["General"]
    general = set(re.findall(r"--[a-z-]+(?=  |,| <)", page["General"]))
    assert general <= {"--help", "--help-all", "--quiet", "--verbose", "--color", "--watch"}


def test_the_sections_of_inspect(helped):
    page = sections(helped("inspect"))
    assert list(page) == [
        "Arguments", "Model", "Batch", "Run", "Checks", "Output", "General", "Examples",
    ]  # fmt: skip
    for name, flag in (("Model", "--weights"), ("Batch", "--input"), ("Run", "--device"),
                       ("Checks", "--fail-on"), ("Output", "--columns")):  # fmt: skip
        assert flag in page[name]


def examples(text):
    rows = [row.strip() for row in sections(text)["Examples"].splitlines()]
    return [row for row in rows if row and not row.startswith("#")]


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_has_examples_that_are_whole_at_any_width(command, helped, monkeypatch, line):
    arguments = [command] if command else []
    shown = examples(helped(*arguments))
    assert 2 <= len(shown) <= 4
    assert all(row.startswith("hookcli ") for row in shown)
    assert command is None or sum(row.split()[1] == command for row in shown) >= 1
    monkeypatch.setenv("COLUMNS", "40")
    assert examples(line(*arguments, "--help")[1]) == shown


def test_the_examples_run(helped, line, asked, cli, tmp_path, monkeypatch):
    """Those of all commands, in a folder with a model.py: as far as the worker, or wholly."""
    source = (SAMPLES / "inplace_resnet.py").read_text()
    (tmp_path / "model.py").write_text(source.replace("InplaceResNet", "Net"))
    checks = tmp_path / "checks.yaml"
    baseline = {"schema": "hookcli.baseline/1", "findings": []}
    (tmp_path / "known.json").write_text(json.dumps(baseline))
    (tmp_path / "train.py").write_text("")
    (tmp_path / "package").mkdir()
    monkeypatch.setattr("hookcli.cli.training.launch.launch", lambda request: 0)
    monkeypatch.chdir(tmp_path)
    assert cli("inspect", "model.py", "-f", "json=report.json").status == 0
    for command in (None, *COMMANDS):
        for example in examples(helped(*([command] if command else []))):
            arguments = shlex.split(example)[1:]
            if arguments[0] == "diff" or "*" in example:  # the shell expands it
                continue
            if arguments[0] in {"follow", "ask"}:  # a training that runs: tests/cli/following
                continue
            if arguments[0] == "snapshot" or arguments[0] in RUN_A_MODEL:
                checks.unlink(missing_ok=True)
                if arguments[-2:] == ["-c", "checks.yaml"]:
                    checks.write_text("model: model.py\nchecks: [{rule: finite}]\n")
                assert asked(*arguments).model.source.endswith(("model.py", "model.py:Net"))
            else:
                assert line(*arguments)[0] == 0, example
    for example in examples(helped("diff"))[:1]:
        done = cli(*shlex.split(example)[1:])
        assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("command", FLAGS)
def test_a_command_has_the_flags_that_are_promised_and_no_other(command, helped):
    assert set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", helped(command), re.M)) == FLAGS[command]


@pytest.mark.parametrize("command", FLAGS)
def test_help_tells_the_defaults_that_a_configuration_may_override(command, helped):
    text = " ".join(helped(command).split())
    mode = {
        "inspect": "eval", "grads": "train", "check": "train", "snapshot": "train",
    }.get(command, "train if a hook needs backward, else eval")  # fmt: skip
    for flag, default in {
        "--batch-size": "2", "--device": "cpu", "--seed": "0", "--timeout": "600",
        "--mode": mode, "--fail-on": "error" if command == "check" else "never",
    }.items():  # fmt: skip
        if flag not in FLAGS[command]:
            continue
        said = text.partition(f" {flag} ")[2].partition(" --")[0]
        assert f"[default: {default}]" in said, flag


@pytest.mark.parametrize("command", RUNNING)
def test_help_names_the_command_s_columns_and_the_formats(command, helped):
    text = " ".join(helped(command).split())
    shown = [name for name in columns_of(command) if not name.startswith(PREFIXES)]
    assert f"Columns to show: {', '.join(shown)}." in text
    assert ("explain columns" in text) == (shown != list(columns_of(command)))
    assert f"{', '.join(FORMATS)}; repeatable" in text


@pytest.mark.parametrize("command", RUNNING)
def test_the_sorts_are_those_of_the_views(command, helped):
    sorts = [name for name in sorts_of(command) if not name.startswith(PREFIXES)]
    page = " ".join(helped(command).split())
    assert f"KEY is one of {', '.join(sorts)}; -KEY reverses the order." in page
