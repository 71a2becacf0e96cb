"""Formats for CI on the command line: several at once, a saved report, other commands, a log."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from hookcli.cli.ci import source_root
from tests.formats.checks import Runner
from tests.formats.test_sarif import VALIDATOR

BAD = """
example_inputs = torch.ones(2, 4)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.spare = nn.Linear(2, 2)
    def forward(self, x):
        print("\\x1b[31m::error::the model speaks")
        return self.fc(x) * float("nan")
"""
HOOKS = """
model: {source}
preset: none
hooks:
  - {{kind: forward, at: spare, do: record}}
"""
CI = {"CI": "true", "GITHUB_ACTIONS": "true"}


@pytest.fixture
def bad(model_file, tmp_path):
    (tmp_path / ".git").mkdir()
    return model_file(BAD, "nets/bad.py")


@pytest.fixture
def sarif(tmp_path):
    def read(name="o.sarif"):
        found = json.loads((tmp_path / name).read_text())
        VALIDATOR.validate(found)
        return found["runs"][0]

    return read


def test_several_formats_at_once_say_the_same(cli, bad, tmp_path, sarif):
    done = cli("check", bad, "-f", "table", "-f", "sarif=o.sarif", "-f", "junit=o.xml",
               "-f", "github=o.txt", "-f", "markdown=o.md", "-f", "json=o.json")  # fmt: skip
    assert done.status == 1
    assert done.out.splitlines()[-1].startswith("FAILED: 1 failed, 2 warned")
    causes = json.loads((tmp_path / "o.json").read_text())["diagnoses"]
    prints = [cause["fingerprints"][0] for cause in causes]
    results = sarif()["results"]
    assert [one["partialFingerprints"]["hookcli/v1"] for one in results] == prints
    assert len(prints) == 2  # of three findings, two are one cause
    root = ET.parse(tmp_path / "o.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("1", "0")
    run = Runner().read((tmp_path / "o.txt").read_text())
    assert [name for name, _, _ in run.annotations] == ["error", "warning"]
    assert all(c["sentence"] in t for c, (_, _, t) in zip(causes, run.annotations, strict=True))
    assert (tmp_path / "o.md").read_text().count("\n- **fail**") == 1


def test_lines_are_those_of_the_source(cli, bad, sarif):
    cli("check", bad, "-f", "sarif=o.sarif", "-f", "table")
    lines = bad.read_text().splitlines()
    for found in sarif()["results"]:
        place = found["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "nets/bad.py"
        line = lines[place["region"]["startLine"] - 1]
        expected = "nan" if found["ruleId"] == "finite" else "self.spare"
        assert expected in line


def test_a_saved_report_is_rendered_in_each(cli, bad, tmp_path):
    cli("check", bad, "-f", "json=r.json", "-f", "sarif=o.sarif", "-f", "junit=o.xml")
    for name, file in (("sarif", "o.sarif"), ("junit", "o.xml")):
        again = cli("render", "r.json", "-f", name)
        assert again.status == 0
        assert again.out == (tmp_path / file).read_text()


def test_a_suppression_and_a_baseline_reach_every_format(cli, bad, tmp_path, sarif):
    (tmp_path / "c.yaml").write_text(
        "suppress: [{rule: finite, at: '*', reason: 'until #12'}]\n"
    )  # fmt: skip
    known = ("-c", "c.yaml", "--baseline", "known.json")
    assert cli("check", bad, *known, "--update-baseline").status == 0
    done = cli("check", bad, *known, "--fail-on", "warning", "-f", "github",
               "-f", "sarif=o.sarif", "-f", "junit=o.xml", "-f", "json=o.json", **CI)  # fmt: skip
    assert done.status == 0
    assert Runner().read(done.out).annotations == []
    results = sarif()["results"]
    assert len(results) == 3
    whys = {one["ruleId"]: one["suppressions"][0]["justification"] for one in results}
    assert whys == {
        "finite": "until #12",
        "grad_exists": "known from the baseline",
        "uncalled_modules": "known from the baseline",
    }
    assert ET.parse(tmp_path / "o.xml").getroot().get("failures") == "0"
    rows = json.loads((tmp_path / "o.json").read_text())["checks"]
    assert {row["rule"]: row["passed_over"]["by"] for row in rows if "passed_over" in row} == {
        "finite": "suppression", "grad_exists": "baseline", "uncalled_modules": "baseline",
    }  # fmt: skip


@pytest.mark.parametrize("command", ["trace", "grads"])
def test_other_commands_tell_their_findings(command, cli, bad, tmp_path, sarif):
    (tmp_path / "h.yaml").write_text(HOOKS.format(source=bad))
    flags = ("-c", "h.yaml", "-f", "github", "-f", "sarif=o.sarif", "-f", "junit=o.xml")
    done = cli(command, *flags)
    [(name, properties, text)] = [
        one for one in Runner().read(done.out).annotations if "hooks_fired" in one[1]["title"]
    ]
    assert done.status == 0
    assert (name, properties["file"], properties["line"]) == ("error", "h.yaml", "5")
    assert "spare" in text
    assert done.out.splitlines()[-1].startswith("PASSED")
    assert "hooks_fired" in {one["ruleId"] for one in sarif()["results"]}
    assert ET.parse(tmp_path / "o.xml").getroot().get("failures") == "0"
    cli(command, "-c", "h.yaml", "-f", "json=r.json", "-f", "junit=o.xml")
    assert cli("render", "r.json", "-f", "junit").out == (tmp_path / "o.xml").read_text()
    done = cli(command, *flags, "--fail-on", "error")
    assert (done.status, done.out.splitlines()[-1][:6]) == (1, "FAILED")
    assert ET.parse(tmp_path / "o.xml").getroot().get("failures") != "0"


def test_a_model_that_raises_reaches_every_format(cli, model_file, tmp_path, sarif):
    path = model_file(BAD.replace('float("nan")', "self.nothing"))
    done = cli("check", path, "-f", "github", "-f", "sarif=o.sarif", "-f", "junit=o.xml", **CI)
    assert done.status == 3
    found = [one for one in Runner().read(done.out).annotations if one[0] == "error"]
    assert found[0][1]["title"] == "hookcli: the model failed"
    assert found[0][1]["file"] == "model.py"
    assert sarif()["invocations"][0]["executionSuccessful"] is False
    assert ET.parse(tmp_path / "o.xml").getroot().get("errors") == "1"


def test_a_log_as_the_runner_reads_it_has_our_annotations_alone(cli, bad, tmp_path):
    """stderr and stdout as two pipes, the first read first, as the runner does."""
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    done = cli("check", bad, "-f", "github", **CI, GITHUB_STEP_SUMMARY=str(summary))
    run = Runner().read(done.err).read(done.out)
    assert [name for name, _, _ in run.annotations] == ["error", "warning"]
    assert any("::error::the model speaks" in line for line in run.text)
    assert run.token is None
    assert run.others == []
    assert "\x1b" not in done.out
    assert summary.read_text().startswith("# before\n### Net: FAILED: 1 failed, 2 warned")


def test_a_fence_ends_also_behind_a_line_that_did_not(cli, bad):
    bad.write_text(bad.read_text().replace('speaks")', 'speaks", end="")'))
    done = cli("check", bad, "-f", "github", **CI)
    run = Runner().read(done.err).read(done.out)
    assert run.token is None
    assert len(run.annotations) == 2


@pytest.mark.parametrize("flag", ["--baseline", "--against"])
def test_what_a_check_reads_is_not_written_over(flag, cli, bad, tmp_path):
    kept = '{"schema": "hookcli.baseline/1", "findings": []}'
    (tmp_path / "kept.json").write_text(kept)
    for model in ([bad], []) if flag == "--against" else ([bad],):
        done = cli("check", *model, flag, "kept.json", "-f", "json=kept.json")
        assert done.status == 2
        assert "it is the same file as" in done.error()[0]
    assert (tmp_path / "kept.json").read_text() == kept


def test_a_summary_that_cannot_be_written_is_a_note(cli, bad, tmp_path):
    done = cli("check", bad, "-f", "github", **CI, GITHUB_STEP_SUMMARY=str(tmp_path))
    assert done.status == 1
    assert "note: no step summary" in done.err
    assert "FAILED" in done.out


def test_no_other_format_writes_a_summary(cli, bad, tmp_path):
    summary = tmp_path / "summary.md"
    cli("check", bad, **CI, GITHUB_STEP_SUMMARY=str(summary))
    assert not summary.exists()


def test_the_root_is_the_checkout_around_the_working_directory(tmp_path, monkeypatch):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    for key in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"):
        monkeypatch.delenv(key, raising=False)
    assert source_root() == (str(inner), str(inner))
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    assert source_root() == (str(tmp_path), str(inner))
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path / "else"))
    assert source_root() == (str(inner), str(inner))
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")  # as in a worktree
    assert source_root() == (str(tmp_path / "a"), str(inner))
