"""`firing_order`: layers run, or hooks fire, in the expected order."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hookcli.report.events import Streamed
from hookcli.report.report import LayerRow, Report
from hookcli.rules.order_patterns import expand_order, prefix, subsequence
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

_SHOWN = 20  # names of an order in the value of a finding


def _sequence(report: Report, options: Options, order: list[str]) -> list[str] | None:
    """Return the observed names in order; None if the events were streamed to a file."""
    kind, at = options["kind"], options["at"]
    if kind is not None:
        if isinstance(report.events, Streamed):
            return None
        fired = (event.target for event in report.events if event.kind == kind)
        return [name for name in fired if matches(at, name)]
    ran = (row.name for row in report.layers if not row.recomputed)
    return [n for n in ran if n is not None and (n or "" in order) and matches(at, n)]


def _relative(row: LayerRow, parent: LayerRow) -> str:
    """Return the name of a callee relative to its caller; its full name if it is not below it."""
    for name in (row.name or "", *row.aliases):
        for above in (parent.name or "", *parent.aliases):
            if name.startswith(f"{above}." if above else ""):
                return name[len(above) + 1 :] if above else name
    return row.name or ""


def callees(report: Report, of: Collection[int] | None = None) -> dict[int, list[str]]:
    """Return the names that each call of a named module called, by the `order` of the call.

    Names are relative to the caller. Modules that are not registered are skipped, and their calls
    count as calls of their caller. With `of`, only these calls are returned.
    """
    rows = {row.order: row for row in report.layers}
    named = (row.order for row in report.layers if row.name is not None)
    by_caller: dict[int, list[str]] = {order: [] for order in (named if of is None else of)}
    for row in report.layers:
        above = row.parent
        while above is not None and above not in by_caller:
            caller = rows.get(above)
            above = caller.parent if caller is not None and caller.name is None else None
        if above is not None and row.name is not None and not row.recomputed:
            by_caller[above].append(_relative(row, rows[above]))
    return by_caller


def _why(seen: list[str], order: list[str], how: str) -> tuple[str, str]:
    if how == "subsequence":
        return subsequence(seen, order)
    return prefix(seen, order, whole=how == "exact")


def _within(report: Report, options: Options, order: list[str]) -> Iterator[RuleFinding]:
    """Yield a finding for each module that called others out of order: its first such call."""
    glob = options["within"]
    calls = [row for row in calls_at(report, glob) if not row.recomputed]
    called = callees(report, {row.order for row in calls})
    if not calls:
        yield no_match("module that ran", glob)
        return
    reported: set[str | None] = set()
    known: dict[str, str] | None = None
    for row in calls:
        why, name = _why(called[row.order], order, options["match"])
        if not why or row.name in reported:
            continue
        if known is None:
            known = places(report)
        reported.add(row.name)
        full = f"{row.name}.{name}" if row.name else name
        place = known.get(full) or row.place
        seen = called[row.order][:_SHOWN]
        message = f"in {layer(row)}, {why}"
        yield RuleFinding(
            "fail", row.name or "", "order within", message, seen, order[:_SHOWN], place
        )
    if not reported:
        how = options["match"]
        where = counted(len(calls), "call")
        yield passed(f"layers ran in the expected order in {where} ({how})")


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield one finding, the first name out of order; with `within`, one for each module."""
    how, kind = options["match"], options["kind"]
    try:
        order = expand_order(options["order"])
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
    judge=judge,
)
