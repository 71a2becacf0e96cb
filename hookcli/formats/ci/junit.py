"""A check as JUnit XML, which CI systems show as tests: a suite for each rule, a case for each row.

It has no attribute that Jenkins' strict reader (junit-10.xsd) refuses. `file` and `line` are among
those, so the place is in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from hookcli.console import escape
from hookcli.formats.check import rows
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import FIX
from hookcli.formats.training.selection import shown_checks
from hookcli.formats.view import View
from hookcli.outputs.escapes import xml_text
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.verdict import is_counted

_RUN = "run"
_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _body(row: CheckRow) -> str:
    """Return all details of a finding, one per line."""
    parts = (
        ("", rows.sentence(row)),
        ("value: ", "" if row.value is None else rows.value_text(row.value)),
        ("limit: ", "" if row.limit is None else rows.value_text(row.limit)),
        ("at: ", rows.where(row)),
        (f"{FIX}: ", rows.mend(row)),
        ("fingerprint: ", escape(row.fingerprint)),
    )
    return "\n".join(xml_text(f"{label}{text}") for label, text in parts if text)


def _outcome(row: CheckRow, view: View) -> tuple[str, str, str]:
    """Return (element, type, message) of a row; ("", "", …) if it passed.

    A warning that does not count is skipped, so that the tests agree with the exit status.
    """
    message = xml_text(rows.sentence(row))
    if row.status == "fail" and is_counted(row, view.fail_on):
        return "failure", row.severity, message
    if row.status == "fail":
        return "skipped", row.severity, f"{row.severity}: {message}"
    if row.status == "error":
        return "error", "not judged", message
    return ("skipped", "skip", message) if row.status == "skip" else ("", "", message)


class _Names:
    """Makes names of cases unique in a suite: GitLab drops all but one of equal names."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}

    def fresh(self, suite: str, name: str) -> str:
        """Return the name, with a number if the suite already has it."""
        count = self._seen[suite, name] = self._seen.get((suite, name), 0) + 1
        return name if count == 1 else f"{name} ({count})"


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(
        suite, "testcase", classname=f"hookcli.{suite.get('name')}", name=name, time="0"
    )


def _suite(parent: ET.Element, name: str) -> ET.Element:
    suite = ET.SubElement(parent, "testsuite", name=name)
    suite.attrib.update(dict.fromkeys(("tests", "failures", "errors", "skipped"), "0"), time="0")
    return suite


def _run(parent: ET.Element, report: Report) -> None:
    """Add the suite of the run itself, whose test fails if the model raised."""
    case = _case(_suite(parent, _RUN), xml_text(escape(report.model.source)) or "the model")
    error = report.error
    if error is None:
        return
    message = xml_text(escape(" ".join(error.message.split())))
    kind = xml_text(escape(error.type))
    layer = f" in {escape(error.layer)}" if error.layer else ""
    where = f", at {place(error.place)}" if error.place else ""
    child = ET.SubElement(case, "error", type=kind, message=f"{kind}: {message}")
    child.text = xml_text(f"{kind} in {escape(error.phase)}{layer}{where}: {message}")


def _by_cause(report: Report, picked: Sequence[CheckRow]) -> Iterator[tuple[CheckRow, str]]:
    """Yield each row with the message of the finding that it follows from, "" if it is told itself.

    So each cause of the verdict fails once.
    """
    told: dict[int, CheckRow] = {}
    follows: dict[int, str] = {}
    for finding, own in rows.causes(report, picked):
        told[id(own[0])] = finding
        follows.update(dict.fromkeys(map(id, own[1:]), rows.sentence(finding)))
    for row in picked:
        yield told.get(id(row), row), follows.get(id(row), "")


def _row(suite: ET.Element, row: CheckRow, follows: str, view: View, names: _Names) -> None:
    target = xml_text(escape(row.target)) or "the model"
    case = _case(suite, names.fresh(row.rule, target))
    element, kind, message = _outcome(row, view)
    if follows:
        element, message = "skipped", xml_text(f"follows from: {follows}")
    if not element:
        ET.SubElement(case, "system-out").text = message
        return
    child = ET.SubElement(case, element, type=kind, message=message)
    child.text = None if row.status == "skip" else _body(row)


def _count(suites: Iterable[ET.Element]) -> None:
    for suite in suites:
        suite.set("tests", str(len(suite)))
        for attribute, element in _KINDS.items():
            suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))


def render(result: Report | TrainingReport, view: View) -> str:
    """Render a JUnit XML document. Warnings fail if the view's `fail_on` counts them."""
    report, view = shown_checks(result, view)
    root = ET.Element("testsuites", name=f"hookcli {escape(report.command)}")
    _run(root, report)
    suites: dict[str, ET.Element] = {}
    names = _Names()
    for row, follows in _by_cause(report, rows.picked(report, view)):
        if row.rule not in suites:
            suites[row.rule] = _suite(root, xml_text(escape(row.rule)))
        _row(suites[row.rule], row, follows, view, names)
    _count(root)
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    root.set("time", f"{report.environment.seconds:.3f}")
    ET.indent(root)
    text = xml_text(ET.tostring(root, encoding="unicode"))  # what was not cleaned before
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
