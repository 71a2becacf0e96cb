"""`uncalled_modules`: modules that never ran, and BatchNorms that ran more than once."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report, UncalledRow
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, never_ran, passed
from hookcli.rules.select import matches
from hookcli.text import counted

# With a gradient, the parameters of a module were used although it was not called.
_USED = {"ok", "zero", "non_finite"}


def _own(report: Report) -> dict[str, set[str | None]]:
    """Return the statuses of all parameters at or below each name."""
    states: dict[str, set[str | None]] = {}
    for row in report.parameters:
        for name in (row.name, *row.shared_with):
            while name:
                name = name.rpartition(".")[0]
                states.setdefault(name, set()).add(row.status)
    return states


def _unheld(report: Report) -> set[str]:
    """Return the names above parameters none of which an optimizer of the training holds."""
    if report.training is None:
        return set()
    unheld, above, others = set(report.training.unheld), set[str](), set[str]()
    for row in report.parameters:
        for name in (row.name, *row.shared_with):
            found = above if row.status == "frozen" or row.name in unheld else others
            while name:
                name = name.rpartition(".")[0]
                found.add(name)
    return above - others


def _top(rows: tuple[UncalledRow, ...]) -> Iterator[UncalledRow]:
    """Yield the modules that are not inside another of the rows."""
    names = {row.name for row in rows}
    for row in rows:
        above = row.name
        while above and (above := above.rpartition(".")[0]) not in names:
            pass
        if not above:
            yield row


def _again(report: Report) -> Iterator[RuleFinding]:
    """Yield a finding for each BatchNorm in train mode that one forward ran several times."""
    last: dict[str, int] = {}
    place: dict[str, str | None] = {}
    for row in report.layers:
        if "BatchNorm" in row.type and row.training and not row.recomputed and row.name:
            last[row.name] = row.call
            place[row.name] = row.place
    for name, call in last.items():
        if call:
            message = (
                f"ran {call + 1} times in one forward, each time updating its running statistics"
            )
            yield RuleFinding(
                "fail", name, "batch norm again", message, call + 1, 1, place[name],
                advice="give each branch a BatchNorm of its own",
            )  # fmt: skip


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each; a module inside another that never ran is not reported."""
    if report.error is not None:
        return
    states = _own(report) if report.uncalled else {}
    unheld = _unheld(report) if report.uncalled else set()
    aside, healthy = 0, True
    for row in _top(report.uncalled):
        if not matches(options["at"], row.name):
            continue
        statuses = states.get(row.name)
        if statuses is None and not options["all"]:
            aside += 1
            continue
        if statuses is not None and statuses & _USED:
            continue
        if report.training is not None and (statuses == {"frozen"} or row.name in unheld):
            continue  # such as an EMA copy, which the script writes and does not train
        healthy = False
        text = never_ran(row.type)
        if statuses is not None:
            text += ", but has parameters"
        yield RuleFinding("fail", row.name, "never ran", text, 0, 1, row.place)
    again = list(_again(report))
    yield from again
    if healthy and not again:
        text = f" ({counted(aside, 'module')} without parameters did not)" if aside else ""
        yield passed(f"{counted(report.totals.layers, 'module')} ran{text}")


RULE = Rule(
    name="uncalled_modules",
    severity="warning",
    safe=True,
    diagnoses=True,
    looks_at="modules",
    of_training=True,
    says="every module with parameters runs, and each BatchNorm at most once",
    computes="Compares the registered modules with those that were called. A module whose "
    "parameters got a gradient without a call counts as called. Modules without parameters are "
    "checked only with `all`. A BatchNorm that runs twice in one forward, in train mode, updates "
    "its running statistics twice.",
    formula="calls(module) >= 1; calls(BatchNorm in training) <= 1",
    source="torch-audit TA500 and TA501",
    fails="self.dropout2 is constructed but forward calls self.dropout1 twice; two branches "
    "share a BatchNorm",
    mend="call it, or remove it from the constructor; give each branch its own BatchNorm",
    example='{rule: uncalled_modules, at: "encoder.*", all: true}',
    options=(
        RuleOption("at", "glob", "glob of module names", "*"),
        RuleOption("all", "flag", "check modules without parameters too", False),
    ),
    needs=lambda options: ("backward",),
    judge=judge,
)
