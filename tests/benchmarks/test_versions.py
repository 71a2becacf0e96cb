"""What `make versions` reads and writes, without its environments."""

from __future__ import annotations

import pytest

from benchmarks.versions import environments, suite
from benchmarks.versions.environments import VERSIONS, NotInstalledError, Version
from benchmarks.versions.page import NOTHING, page
from benchmarks.versions.suite import Outcome, Part
from hookcli.torch_private import NEWEST, OLDEST
from tests.conftest import ROOT
from tests.torch_version import needs_torch

JUNIT = """\
<testsuites><testsuite name="pytest" time="3.5">
<testcase classname="tests.a" name="fine"/>
<testcase classname="tests.a" name="wrong"><failure message="no"/></testcase>
<testcase classname="tests.b" name="broken"><error message="import"/></testcase>
<testcase classname="tests.b" name="older"><skipped message="{reason}"/></testcase>
<testcase classname="tests.b" name="other"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>
"""
OLD, NEW = VERSIONS[0], VERSIONS[-1]


def outcome(torch, **parts):
    packages = dict.fromkeys(suite.PACKAGES, "1.0")
    return Outcome(torch, "3.10.1", packages, parts)


def test_the_versions_span_what_is_supported():
    assert [OLD.torch, NEW.torch] == [OLDEST, NEWEST]
    assert {version.python for version in VERSIONS} == {"3.10", "3.11", "3.12", "3.13"}


def test_skips_for_the_version_are_counted_apart(tmp_path):
    reason = needs_torch("99.1", "a function of the future").kwargs["reason"]
    file = tmp_path / "junit.xml"
    file.write_text(JUNIT.format(reason=reason))
    expected = Part(1, ["tests.a::wrong", "tests.b::broken"], {reason: 1}, 3.5)
    assert suite.count(file) == expected


def test_an_outcome_is_read_as_it_was_saved(tmp_path):
    assert suite.saved(tmp_path, OLD) is None
    made = outcome("2.6.0", hooks=Part(3, ["a::b"], {"needs torch 2.8 or newer: x": 2}, 1.5))
    suite.save(tmp_path, OLD, made)
    assert suite.saved(tmp_path, OLD) == made


def test_the_page_states_counts_and_what_is_missing():
    reason = "needs torch 2.8 or newer: a dtype"
    old = outcome(
        "2.6.0+cpu", hooks=Part(1000, [], {reason: 2}, 1), engine=Part(234, ["a::b"], {}, 1)
    )
    text = page(
        {OLD: old, NEW: outcome("2.15.0", **{name: Part(1, [], {}, 1) for name in suite.PARTS})}
    )
    assert "| 2.6.0+cpu | 3.10.1 | 1,234 | 1 | 2 | hooks, engine |" in text
    assert f"| 2.15.0 | 3.10.1 | {len(suite.PARTS)} | 0 | 0 | all |" in text
    assert "- torch 2.6.0+cpu: `a::b`" in text
    assert f"| 2.6.0+cpu | 2 | {reason} |" in text
    assert "| 2.6.0+cpu | a .pt2 file | torch 2.8 |" in text
    assert "| 2.6.0+cpu | [CUDA graph hooks](hooks/cuda-graph.md) | torch 2.14 |" in text
    assert NOTHING not in text
    assert NOTHING in page({NEW: outcome("2.15.0")})


def test_the_page_in_the_repository_has_every_version():
    text = (ROOT / "docs" / "versions.md").read_text()
    assert all(f"| {version.torch}." in text for version in environments.VERSIONS)


def test_every_part_is_in_the_suite():
    assert all((ROOT / "tests" / name).exists() for name in suite.PARTS)


def test_an_environment_with_another_torch_is_not_used(tmp_path, monkeypatch):
    python = tmp_path / "torch-2.6" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    monkeypatch.setattr(environments, "output", lambda *_: "2.15.0")
    with pytest.raises(NotInstalledError, match=r"has torch 2.15.0, not 2.6"):
        environments.interpreter(tmp_path, Version("2.6", "3.10"))


def test_a_python_that_is_not_installed_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    with pytest.raises(NotInstalledError, match=r"no Python 3\.99"):
        environments.interpreter(tmp_path, Version("2.6", "3.99"))
