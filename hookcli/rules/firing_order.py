"""`firing_order`: layers run, or hooks fire, in a stated order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hookcli.report.events import Streamed
from hookcli.report.report import LayerRow, Report
from hookcli.rules.order_patterns import prefix, spelled, subsequence
from hookcli.rules.rule import (
    UNFINISHED,
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    no_match,
    passed,
    skipped,
)
from hookcli.rules.select import calls_at, layer, matches, places
from hookcli.text import counted, join_names

_SHOWN = 20  # names of an order that stand in a finding's value


def _sequence(report: Report, options: Options, order: list[str]) -> list[str] | None:
    """The names in the order in which they came; None where they were written elsewhere."""
    kind, at = options["kind"], options["at"]
    if kind is not None:
        if isinstance(report.events, Streamed):
            return None
        fired = (event.target for event in report.events if event.kind == kind)
        return [name for name in fired if matches(at, name)]
    ran = (row.name for row in report.layers if not row.recomputed)
    return [n for n in ran if n is not None and (n or "" in order) and matches(at, n)]


def _relative(row: LayerRow, parent: LayerRow) -> str:
    """What a callee is called below its caller; its whole name where it stands elsewhere."""
    for name in (row.name or "", *row.aliases):
        for above in (parent.name or "", *parent.aliases):
            if name.startswith(f"{above}." if above else ""):
                return name[len(above) + 1 :] if above else name
    return row.name or ""


def callees(report: Report, of: Collection[int] | None = None) -> dict[int, list[str]]:
    """By the `order` of each call of a named module: what it called, named below it.

    What is not registered is passed over, and what that calls counts as its caller's. With `of`,
    of these calls alone.
    """
    rows = {row.order: row for row in report.layers}
    named = (row.order for row in report.layers if row.name is not None)
    by_caller: dict[int, list[str]] = {order: [] for order in (named if of is None else of)}
    for row in report.layers:
        above = row.parent
        while above is not None and above not in by_caller:
            if above not in rows or rows[above].name is not None:
                above = None
                break
            above = rows[above].parent
        if above is not None and row.name is not None and not row.recomputed:
            by_caller[above].append(_relative(row, rows[above]))
    return by_caller


def _why(seen: list[str], order: list[str], how: str) -> tuple[str, str]:
    if how == "subsequence":
        return subsequence(seen, order)
    return prefix(seen, order, whole=how == "exact")


def _within(report: Report, options: Options, order: list[str]) -> Iterator[RuleFinding]:
    """A finding for each module in which something is out of order: of its first such call."""
    glob = options["within"]
    calls = [row for row in calls_at(report, glob) if not row.recomputed]
    called = callees(report, {row.order for row in calls})
    if not calls:
        yield no_match("module that ran", glob)
        return
    told: set[str | None] = set()
    known: dict[str, str] | None = None
    for row in calls:
        why, name = _why(called[row.order], order, options["match"])
        if not why or row.name in told:
            continue
        if known is None:
            known = places(report)
        told.add(row.name)
        full = f"{row.name}.{name}" if row.name else name
        place = known.get(full) or row.place
        seen = called[row.order][:_SHOWN]
        message = f"in {layer(row)}, {why}"
        yield RuleFinding(
            "fail", row.name or "", "order within", message, seen, order[:_SHOWN], place
        )
    if not told:
        how = options["match"]
        yield passed(
            f"{counted(len(calls), 'call')} ran their layers in the expected order ({how})"
        )


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """One finding, the first thing that is out of order; with `within` one for each module."""
    how, kind = options["match"], options["kind"]
    try:
        order = spelled(options["order"])
    except ValueError as error:
        yield RuleFinding("error", "", "too long", str(error))
        return
    if options["within"] is not None and report.error is None:
        yield from _within(report, options, order)
        return
    seen = _sequence(report, options, order)
    if seen is None:
        yield skipped("the events were streamed to a file and are not in the report")
        return
    if report.error is not None:
        yield skipped(UNFINISHED)
        return
    why, name = _why(seen, order, how)
    if not why:
        what = "layers ran" if kind is None else f"{kind} hooks fired"
        yield passed(f"{what} in the expected order ({how})")
        return
    place = places(report).get(name)
    finding = f"order of {join_names(order)}"
    yield RuleFinding("fail", "", finding, why, seen[:_SHOWN], order[:_SHOWN], place)


RULE = Rule(
    name="firing_order",
    severity="error",
    says="layers run, or hooks of a kind fire, in the expected order",
    computes="Lists the names of the layers in the order in which their forwards start (with "
    "`kind`, the targets of that kind's firings; with `within`, the layers that each matching "
    "module calls itself, relative to its name). Compares the list with `order`: as a subsequence, "
    "as a prefix, or exactly. In `order`, h.{0..11} means twelve names, and "
    "{of: [cell, norm], times: 8} means eight repetitions.",
    formula="expected is a subsequence (a prefix, all) of observed",
    source="hookcli's own",
    fails="a norm that moved from before the attention to after it",
    mend="run `hookcli trace` to see the observed order",
    example="{rule: firing_order, order: [conv1, bn1, fc], match: subsequence}",
    options=(
        RuleOption("order", "order", "names or globs, in order", required=True),
        RuleOption("match", "match", "subsequence, prefix or exact", "subsequence"),
        RuleOption("kind", "kind", "kind of hook whose firings are compared, instead of layers"),
        RuleOption("at", "glob", "compare only names that match", "*"),
        RuleOption("within", "glob", "glob of modules: compare what each of them calls"),
    ),
    needs=lambda options: (),
    judge=judge,
)
