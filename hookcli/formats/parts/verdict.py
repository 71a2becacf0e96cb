"""What the verdict above the numbers says: what is wrong, the worst first, or that nothing is."""

from __future__ import annotations

from hookcli.report.findings import Diagnosis
from hookcli.report.report import Report
from hookcli.rules.catalogue import looked_at
from hookcli.text import counted, join_names

_MOST = 3  # sentences
TRY = "try"  # the label of what to try
FIX = "to fix it"  # the label of how to fix a finding, in every format
GOOD = "no problem found"


def shown(report: Report) -> tuple[Diagnosis, ...]:
    """Return the diagnoses that a verdict shows."""
    return (report.diagnoses or ())[:_MOST]


def left_out(report: Report) -> str:
    """Return how many diagnoses are not shown, and where they are; "" if all are."""
    left = len((report.diagnoses or ())[_MOST:])
    return f"{counted(left, 'more problem')}: `-f json` lists all" if left else ""


def nothing_found(report: Report) -> str:
    """Return the line of a report without diagnoses; "" if nothing was judged, or the run failed.

    It names what was looked at.
    """
    if report.diagnoses is None or report.diagnoses or report.error is not None:
        return ""
    rules = report.examined or ()
    what = looked_at(rules)
    return f"{GOOD}; {counted(len(rules), 'rule')} looked at {join_names(what, len(what))}"
