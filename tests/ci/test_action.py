"""The GitHub Action: its steps are performed as they stand in action.yml."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.ci.action import ACTION, STEPS, run_step
from tests.conftest import HEAD, ROOT
from tests.shadowing import imported, shadow

GOOD = """
example_inputs = torch.ones(2, 4)
class Net(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.fc = nn.Linear(4, width)
    def forward(self, x):
        print("::error::the model speaks", end="")
        return self.fc(x)
"""
BAD = GOOD.replace("return self.fc(x)", "return self.fc(x) * float('nan')")


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "nets").mkdir()
    (folder / "nets" / "good.py").write_text(HEAD + GOOD)
    (folder / "nets" / "bad.py").write_text(HEAD + BAD)
    return folder


@pytest.fixture
def check(workspace, tmp_path):
    def run(**inputs):
        return run_step("check", workspace, tmp_path, python=sys.executable, **inputs)

    return run


def test_a_good_model_passes(check):
    done = check(model="nets/good.py")
    assert done.status == 0
    assert done.outputs == {"status": "0", "passed": "true"}
    assert done.runner.annotations == []
    assert re.search(r"^PASSED: .*\d passed$", done.log, re.M)
    assert done.summary.startswith("### Net: PASSED")


def test_a_bad_model_fails_with_an_annotation_on_its_line(check):
    done = check(model="nets/bad.py")
    line = 1 + next(i for i, text in enumerate((HEAD + BAD).splitlines()) if "nan" in text)
    assert done.status == 1
    assert done.outputs == {"status": "1", "passed": "false"}
    name, properties, text = done.runner.annotations[0]
    assert (name, properties["title"]) == ("error", "hookcli: finite")
    assert (properties["file"], properties["line"]) == ("nets/bad.py", str(line))
    assert text.startswith("the model: NaN first appears in the model (Net) at nets/bad.py")
    assert done.summary.startswith("### Net: FAILED: 1 failed")


def test_the_model_s_own_commands_are_words(check):
    done = check(model="nets/bad.py")
    assert any("::error::the model speaks" in line for line in done.runner.text)
    assert not any("speaks" in text for _, _, text in done.runner.annotations)
    assert done.runner.token is None  # the fence was opened again


def test_files_are_written_where_later_steps_find_them(check, workspace):
    done = check(
        model="good.py", working_directory="nets", sarif="o.sarif", junit="o.xml", report="o.json"
    )
    assert done.status == 0
    folder = workspace / "nets"
    assert done.outputs == {
        "status": "0",
        "passed": "true",
        "sarif": str(folder / "o.sarif"),
        "junit": str(folder / "o.xml"),
        "report": str(folder / "o.json"),
    }
    [run] = json.loads((folder / "o.sarif").read_text())["runs"]
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{workspace.as_uri()}/"
    assert ET.parse(folder / "o.xml").getroot().get("failures") == "0"
    assert json.loads((folder / "o.json").read_text())["command"] == "check"


def test_a_file_that_was_not_written_is_no_output(check, workspace):
    (workspace / "old.sarif").write_text("{}")
    done = check(model="nets/none.py", sarif="old.sarif")
    assert done.status == 2
    assert done.outputs == {"status": "2", "passed": "false"}
    assert "error: file not found: nets/none.py" in done.log
    assert done.runner.annotations == [
        ("error", {"title": "hookcli"}, "no check was judged (exit status 2), see the log")
    ]


def test_inputs_become_flags(check, workspace):
    (workspace / "c.yaml").write_text(
        "model: nets/good.py\nchecks: [{rule: output_shape, at: fc, shape: [2, 3]}]\n"
    )
    assert check(config="c.yaml").status == 1
    assert check(config="c.yaml", args="--arg 'width=3'").status == 0
    assert check(config="c.yaml", fail_on="never").status == 0
    known = workspace / "known.json"
    assert check(config="c.yaml", baseline=known, args="--update-baseline").status == 0
    done = check(config="c.yaml", baseline=known)
    assert (done.status, done.runner.annotations) == (0, [])


WILD = [
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "' ; touch pwned '", '"; touch pwned "',
    "--help", "-f json=pwned", "a\nstatus=0", "*",
]  # fmt: skip


def names(folder):
    return {path.name for path in folder.rglob("*")} - {"__pycache__"}


@pytest.mark.parametrize("text", WILD)
@pytest.mark.parametrize("name", ["model", "config", "baseline"])
def test_no_input_is_run_or_taken_for_a_flag(name, text, check, workspace):
    before = names(workspace)
    done = check(**{"model": "nets/good.py", name: text})
    assert done.status == 2
    assert done.outputs == {"status": "2", "passed": "false"}
    assert names(workspace) == before


@pytest.mark.parametrize("text", WILD)
def test_no_file_s_name_is_run_or_becomes_an_output(text, check, workspace):
    before = names(workspace)
    done = check(model="nets/good.py", sarif=text, report=f"{text}.json")
    assert done.outputs == {
        "status": "0",
        "passed": "true",
        "sarif": str(workspace / text),
        "report": str(workspace / f"{text}.json"),
    }
    assert names(workspace) - before == {text, f"{text}.json"}


def test_args_are_split_as_a_shell_does_and_not_run(check, workspace):
    done = check(model="nets/good.py", args="--seed '1' $(touch pwned) | cat")
    assert done.status == 2
    assert not (workspace / "pwned").exists()
    assert "'$(touch'" in done.log or "$(touch" in done.log


@pytest.mark.parametrize(
    ("install", "what"),
    [("action", str(ROOT)), ("hookcli==0.2.0", "hookcli==0.2.0"), ("-rx; y", "-rx; y")],
)
def test_it_installs_what_was_asked_for(install, what, workspace, tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/bash\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/asked"\n')
    python.chmod(0o755)
    done = run_step("install", workspace, tmp_path, python=python, install=install)
    assert done.status == 0
    assert (tmp_path / "asked").read_text().splitlines() == [
        "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--", what,
    ]  # fmt: skip


def test_no_file_of_the_checkout_runs_instead_of_python_s_own(workspace, tmp_path):
    shadow(workspace, tmp_path / "ran")
    done = run_step("check", workspace, tmp_path, python=sys.executable, model="nets/good.py")
    assert done.outputs == {"status": "0", "passed": "true"}
    none = str(tmp_path / "none" / "hookcli-0-py3-none-any.whl")
    assert run_step("install", workspace, tmp_path, python=sys.executable, install=none).status == 1
    assert imported(tmp_path / "ran") == []


def test_no_script_holds_an_expression():
    for step in STEPS.values():
        assert "${{" not in step["run"]
    assert ACTION["runs"]["using"] == "composite"


def test_every_input_and_output_is_described_and_used():
    text = (ROOT / "action.yml").read_text()
    for name, one in ACTION["inputs"].items():
        assert one["description"]
        assert f"inputs.{name}" in text
    for name, one in ACTION["outputs"].items():
        assert one["value"] == f"${{{{ steps.check.outputs.{name} }}}}"
        assert one["description"]
