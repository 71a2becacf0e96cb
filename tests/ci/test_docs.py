"""docs/guides/ci.md: its YAML is read, and names only what there is."""

from __future__ import annotations

import re

import yaml

from hookcli.formats.registry import FORMATS
from tests.ci.action import ACTION
from tests.ci.test_precommit import HOOKS
from tests.cli.test_help import FLAGS
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "guides" / "ci.md").read_text()
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.S)]


def test_the_action_is_given_inputs_that_it_has():
    steps = [
        step
        for block in BLOCKS
        for job in block.get("jobs", {}).values()
        for step in job["steps"]
        if step.get("uses", "").startswith("hookcli/")
    ]
    assert len(steps) == 2
    for step in steps:
        assert step["with"].keys() <= ACTION["inputs"].keys()
    listed = TEXT.partition("| input | |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (.*?) \|", listed, re.M))))
    assert named == set(ACTION["inputs"])


def test_the_hooks_are_those_of_the_manifest():
    [hook] = [hook for block in BLOCKS for repo in block.get("repos", ()) for hook in repo["hooks"]]
    assert hook["id"] in HOOKS
    assert set(re.findall(r"`(hookcli-check[a-z-]*)`", TEXT)) == set(HOOKS)


def test_commands_have_flags_and_formats_that_there_are():
    commands = re.findall(r"hookcli check ([^\n`'#]*)", TEXT)
    assert len(commands) >= 8
    for command in commands:
        for word in command.split():
            assert not word.startswith("--") or word in FLAGS["check"], command
        for name in re.findall(r"-f (\w+)", command):
            assert name in FORMATS
    table = TEXT.partition("| format |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(FORMATS) - {
        "tree", "html", "svg", "perfetto", "tensorboard",
    }  # fmt: skip
