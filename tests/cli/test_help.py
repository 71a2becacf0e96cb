"""What `--help` says, at 80 columns: nothing cut, every flag, the defaults."""

from __future__ import annotations

import re

import pytest

from hookcli.cli.app import COMMANDS
from hookcli.formats.names import SORTS, columns_of, sorts_of
from hookcli.formats.registry import FORMATS

RUNNING = ["inspect", "grads", "trace"]
SHARED = {
    "--config", "--arg", "--weights", "--trust", "--data-only", "--input", "--batch-size",
    "--device", "--dtype", "--mode",
    "--seed", "--loss", "--steps", "--no-grad", "--timeout", "--max-memory", "--fail-on", "--depth",
    "--only", "--columns", "--sort", "--format", "--output", "--quiet", "--verbose", "--color",
    "--help",
}  # fmt: skip
BACKWARD = {"--flops", "--verify-neutral", "--nproc", "--parallel"}
FLAGS = {
    "inspect": SHARED | {"--tensors"},
    "grads": SHARED | BACKWARD,
    "trace": SHARED | BACKWARD | {"--tensors", "--kinds", "--stream", "--phase"},
    "check": SHARED - {"--depth", "--columns", "--sort"}
    | BACKWARD
    | {"--baseline", "--update-baseline", "--against"},
    "snapshot": SHARED - {"--only", "--columns", "--sort", "--format", "--fail-on"}
    | {"--force", "--nproc", "--parallel"},
}


@pytest.fixture
def helped(line, monkeypatch):
    def text(*command):
        monkeypatch.setenv("COLUMNS", "80")
        status, out, err = line(*command, "--help")
        assert (status, err) == (0, "")
        return out

    return text


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_into_80_columns_and_cuts_nothing(command, helped):
    out = helped(*([command] if command else []))
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.replace("[ARGS]...", "")


def test_help_names_every_command_in_order(helped):
    listed = helped().partition("Commands:\n")[2]
    assert re.findall(r"^  (\w+)", listed, re.M) == list(COMMANDS)


@pytest.mark.parametrize("command", FLAGS)
def test_a_command_has_the_flags_that_are_promised_and_no_other(command, helped):
    assert set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", helped(command), re.M)) == FLAGS[command]


@pytest.mark.parametrize("command", FLAGS)
def test_help_tells_the_defaults_that_a_configuration_may_override(command, helped):
    text = " ".join(helped(command).split())
    mode = {
        "inspect": "eval", "grads": "train", "check": "train", "snapshot": "train",
    }.get(command, "train where it goes backward, else eval")  # fmt: skip
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
    assert f"Columns: {', '.join(columns_of(command))}." in text
    assert f"{', '.join(FORMATS)}; may be repeated" in text


@pytest.mark.parametrize("command", [*RUNNING, "render"])
def test_the_sorts_are_those_of_the_views(command, helped):
    sorts = SORTS if command == "render" else sorts_of(command)
    assert f"--sort <{'|'.join(sorts)}>" in helped(command)
