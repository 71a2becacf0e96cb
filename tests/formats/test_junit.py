"""JUnit XML: what Jenkins' strict reader takes, what CI systems count, and hostile names."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.formats.checks import BROKEN, CHECK, row
from tests.formats.fabricate import TRACE, report
from tests.formats.test_formats import HOSTILE

# The attributes that junit-10.xsd of Jenkins' xunit plugin has, and which of them are needed.
ALLOWED = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp",
         "hostname", "id", "package", "file", "log", "url", "version"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": ({"name", "time", "classname", "group"}, {"name"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}  # fmt: skip
INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}


def parse(found, **view):
    return ET.fromstring(FORMATS["junit"].render(found, View(**view)).encode())


def cases(root, suite):
    return {case.get("name"): case for case in root.findall(f"testsuite[@name='{suite}']/testcase")}


def well_formed(root):
    for element in root.iter():
        allowed, needed = ALLOWED[element.tag]
        assert needed <= set(element.attrib) <= allowed
        assert {child.tag for child in element} <= INSIDE.get(element.tag, set())
        if "time" in element.attrib:
            assert re.fullmatch(r"[0-9]+(\.[0-9]{0,3})?", element.get("time"))


@pytest.mark.parametrize("found", [CHECK, BROKEN, TRACE, report("inspect")])
def test_nothing_stands_there_that_jenkins_refuses(found):
    well_formed(parse(found))


def test_there_is_a_suite_for_each_rule_and_a_case_for_each_target():
    root = parse(CHECK)
    assert [suite.get("name") for suite in root] == [
        "run", "grad_exists", "finite", "output_shape", "uncalled_modules", "deterministic",
        "batch_independent", "unused_suppression",
    ]  # fmt: skip
    assert list(cases(root, "uncalled_modules")) == ["spare", "old"]
    assert list(cases(root, "deterministic")) == ["the model"]


def test_counts_are_those_of_the_cases():
    root = parse(CHECK)
    assert root.attrib == {
        "name": "hookcli check", "tests": "9", "failures": "1", "errors": "1", "time": "0.100",
    }  # fmt: skip
    for suite in root:
        assert int(suite.get("tests")) == len(suite)
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(key)) == len(suite.findall(f"testcase/{tag}"))


def test_a_finding_says_what_where_and_how_to_mend_it():
    [found] = cases(parse(CHECK), "finite")["fc"]
    assert (found.tag, found.get("type")) == ("failure", "error")
    assert found.get("message") == "the output of fc (Linear) contains 4 NaN in 4 elements"
    lines = found.text.splitlines()
    assert lines[1:4] == ["value: 4", "limit: 0", "at: /repo/sub/net.py:12"]
    assert lines[-1] == f"fingerprint: {'2' * 16}"


@pytest.mark.parametrize(
    ("fail_on", "warned", "failed"),
    [
        ("error", "skipped", "failure"),
        ("warning", "failure", "failure"),
        ("never", "skipped", "skipped"),
    ],
)
def test_what_does_not_count_is_no_failure(fail_on, warned, failed):
    root = parse(CHECK, fail_on=fail_on)
    [warning], [error] = cases(root, "grad_exists")["spare"], cases(root, "finite")["fc"]
    assert (warning.tag, error.tag) == (warned, failed)
    if warned == "skipped":
        assert warning.get("message") == "warning: weight, bias never got one"


def test_what_was_not_judged_is_an_error_and_what_is_passed_over_is_skipped():
    root = parse(CHECK)
    [found] = cases(root, "output_shape")["head"]
    assert (found.tag, found.get("type")) == ("error", "not judged")
    assert "at: /repo/c.yaml:3: checks[0]" in found.text
    [known] = cases(root, "uncalled_modules")["old"]
    assert (known.tag, known.get("message")) == (
        "skipped", "known from the baseline: Linear never ran",
    )  # fmt: skip


def test_a_model_that_raised_is_a_test_that_fails():
    [found] = cases(parse(BROKEN), "run")["net.py"]
    assert (found.tag, found.get("type")) == ("error", "ValueError")
    assert found.text == "ValueError in forward in fc, at /repo/sub/net.py:13: no way"
    assert len(cases(parse(CHECK), "run")["net.py"]) == 0


def test_cases_of_one_target_have_names_of_their_own():
    rows = (row(target="fc", message="a"), row(target="fc", message="b"), row(target="fc"))
    assert list(cases(parse(report("check", checks=rows)), "finite")) == ["fc", "fc (2)", "fc (3)"]


@pytest.mark.parametrize(
    "name", [*HOSTILE.values(), "]]>", "a\ufffeb\uffff", "\x00", "&amp;\"'<"],
)  # fmt: skip
def test_hostile_names_leave_the_document_whole(name):
    rows = [
        row(name, name, status, message=name, value=[name], limit=name, place=name)
        for status in ("fail", "pass", "skip", "error")
    ]
    text = FORMATS["junit"].render(report("check", checks=tuple(rows)), View())
    root = ET.fromstring(text.encode())
    well_formed(root)
    assert [suite.get("tests") for suite in root] == ["1", "4"]
    assert not re.search("[^\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    assert not re.search(r"^\s*::", text, re.M)
    assert "##[" not in text


def test_a_view_s_glob_picks_targets():
    root = parse(CHECK, only="spare")
    assert [suite.get("name") for suite in root] == [
        "run", "grad_exists", "output_shape", "uncalled_modules",
    ]  # fmt: skip


def test_what_xml_cannot_hold_is_spelled_wherever_it_stands():
    text = FORMATS["junit"].render(replace(CHECK, command="a\ufffeb"), View())
    assert ET.fromstring(text).get("name") == r"hookcli a\ufffeb"
