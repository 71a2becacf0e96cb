"""`hookcli check` as a user runs it: statuses, suppressions, baselines, saved reports."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import SAMPLES

GOOD, WARNED = SAMPLES / "tiny_gpt.py", SAMPLES / "detector.py"
BAD = """
example_inputs = torch.ones(2, 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.spare = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x) * float("nan")
"""


def last(result):
    return result.out.splitlines()[-1]


@pytest.fixture
def bad(model_file):
    return str(model_file(BAD))


@pytest.mark.parametrize(
    ("level", "status", "line"),
    [
        ((), 1, "FAILED: 1 failed, 2 warned"),
        (("--fail-on", "error"), 1, "FAILED: 1 failed, 2 warned"),
        (("--fail-on", "never"), 0, "PASSED: 1 failed, 2 warned"),
    ],
)
def test_the_status_and_the_last_line_agree(level, status, line, cli, bad):
    done = cli("check", bad, *level)
    assert done.status == status
    assert last(done).startswith(line)


def test_warnings_fail_where_that_is_asked(cli):
    assert cli("check", WARNED).status == 0
    done = cli("check", WARNED, "--fail-on", "warning")
    assert (done.status, last(done)) == (1, "FAILED: 2 warned, 4 passed")


def test_a_model_that_raises_is_status_3_and_judges_what_it_can(cli, model_file):
    path = model_file(BAD.replace("return", "raise ValueError('no')\n        return"))
    done = cli("check", path)
    assert done.status == 3
    assert done.error()[0].startswith("ValueError in forward")
    assert last(done) == "FAILED: 6 skipped; the model failed"


def test_a_rule_that_cannot_be_judged_is_status_3(cli, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("checks: [{rule: output_shape, at: nothing, shape: [2]}]")
    done = cli("check", GOOD, "-c", config)
    assert done.status == 3
    assert "output_shape       nothing: no module that ran matches 'nothing'" in done.out
    assert f"--> {config}:1: checks[0]" in done.out


def test_suppressed_findings_do_not_count_and_unused_suppressions_do(cli, bad, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(
        "suppress:\n"
        "  - {rule: finite, at: '*', reason: the test wants it}\n"
        "  - {rule: uncalled_modules, at: head.*, reason: long gone}\n"
    )
    done = cli("check", bad, "-c", config)
    assert done.status == 0
    said = " ".join(done.out.split())
    assert "skip finite suppressed, the test wants it: NaN first appears in" in said
    assert "warning unused_suppression head.*: unused suppression of uncalled_modules" in said
    assert f"--> {config}:3: suppress[1]" in done.out
    assert cli("check", bad, "-c", config, "--fail-on", "warning").status == 1


def test_a_baseline_holds_what_is_known_and_new_findings_fail(cli, bad, tmp_path, model_file):
    file = tmp_path / "known.json"
    assert cli("check", bad, "--baseline", file, "--update-baseline").status == 0
    kept = file.read_text()
    assert [one["rule"] for one in json.loads(kept)["findings"]] == [
        "finite", "grad_exists", "uncalled_modules",
    ]  # fmt: skip
    done = cli("check", bad, "--baseline", file, "--fail-on", "warning")
    assert (done.status, last(done)) == (0, "PASSED: 4 skipped, 2 passed")
    model_file(BAD.replace("self.spare = ", "self.extra = nn.Linear(2, 2)\n        self.spare = "))
    done = cli("check", bad, "--baseline", file, "--fail-on", "warning")
    assert (done.status, last(done)) == (1, "FAILED: 2 warned, 4 skipped, 2 passed")
    assert cli("check", bad, "--baseline", file, "--update-baseline").status == 0
    assert len(json.loads(file.read_text())["findings"]) == 5


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "x", "findings": []}', '{"findings": 1}'])
def test_what_is_no_baseline_is_refused(text, cli, bad, tmp_path):
    file = tmp_path / "known.json"
    file.write_text(text)
    done = cli("check", bad, "--baseline", file)
    assert done.status == 2
    assert done.error()[0] == f"{file} is not a hookcli baseline"


def test_a_saved_report_is_judged_again_and_held_against(cli, bad, tmp_path):
    saved = tmp_path / "saved.json"
    assert cli("check", bad, "-f", f"json={saved}", "-f", "table").status == 1
    done = cli("check", "--against", saved)
    assert (done.status, last(done)) == (1, last(cli("check", bad)))
    config = tmp_path / "c.yaml"
    config.write_text("checks: [{rule: output_shape, at: fc, shape: [2, 3]}]")
    done = cli("check", "--against", saved, "-c", config)
    assert "dimension 1 is 2, expected 3" in done.out
    good = tmp_path / "good.json"
    assert cli("check", GOOD, "-o", good, "-f", "json").status == 0
    assert "pass  same_as" in cli("check", GOOD, "--against", good).out
    done = cli("check", GOOD, "--against", good, "--arg", "layers=1")
    assert done.status in {1, 2}


def test_two_runs_give_the_same_bytes_but_for_the_environment(cli):
    one, other = (cli("check", GOOD, "-f", "json").report for _ in range(2))
    for report in (one, other):
        report.pop("environment")
    assert one == other
    assert one["command"] == "check"


def test_names_of_the_model_s_cannot_act_on_a_terminal(cli, model_file):
    path = model_file(
        "example_inputs = torch.ones(2, 4)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(4, 2)\n"
        "        self.add_module('x\\x1b[31m::error::', nn.Linear(2, 2))\n"
        "    def forward(self, x):\n"
        "        return self.fc(x)\n"
    )
    for format_ in ("table", "markdown", "tree", "junit", "sarif"):
        done = cli("check", path, "-f", format_)
        assert "\x1b" not in done.out
        assert not re.search(r"(?<![\w:])::", done.out)  # where a command could begin


def test_markdown_has_the_verdict_in_its_heading(cli, bad):
    done = cli("check", bad, "-f", "markdown")
    assert done.out.startswith("### Net: FAILED: 1 failed, 2 warned")
    assert "- **fail** finite, the model: NaN first appears in the model" in done.out


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["finit"], ["unknown rule 'finit'", "--rule", "try `finite`"]),
        (["max_params"], ["unknown rule 'max_params'", "--rule", "try `budget`"]),
        (["finite", "frozen"], ["rule 'frozen' requires at", "--rule", "add it to the checks"]),
    ],
)
def test_a_rule_that_cannot_be_checked_by_name_is_refused(names, said, cli, bad):
    done = cli("check", bad, *(f"--rule={name}" for name in names))
    assert done.status == 2
    assert all(text in line for text, line in zip(said, done.error(), strict=True))


def test_only_the_rules_that_are_named_are_checked(cli, bad, tmp_path):
    def rules(*flags):
        done = cli("check", bad, *flags, "-f", "json")
        return [row["rule"] for row in json.loads(done.out)["checks"]]

    assert set(rules("--rule", "finite", "--rule", "causal")) == {"finite", "causal"}
    config = tmp_path / "checks.yaml"
    config.write_text("checks: [{rule: frozen, at: '*'}, {rule: budget, parameters: 1e9}]")
    assert set(rules("-c", config, "--rule", "frozen")) == {"frozen"}
    saved = tmp_path / "saved.json"
    cli("check", bad, "-f", f"json={saved}")
    done = cli("check", "--against", saved, "--rule", "finite", "-f", "json")
    assert {row["rule"] for row in json.loads(done.out)["checks"]} == {"finite"}
