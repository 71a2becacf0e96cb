"""`firing_order`: layers run, or hooks fire, in a stated order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hookcli.report.events import Streamed
from hookcli.report.model import Report
from hookcli.rules.rule import Finding, Option, Options, Rule, passed, skipped
from hookcli.rules.targets import listed, matches, places


def _sequence(report: Report, options: Options) -> list[str] | None:
    """The names in the order in which they came; None where they were written elsewhere."""
    kind, at = options["kind"], options["at"]
    if kind is not None:
        if isinstance(report.events, Streamed):
            return None
        fired = (event.target for event in report.events if event.kind == kind)
        return [name for name in fired if matches(at, name)]
    root_too = "" in options["order"]
    ran = (row.name for row in report.layers if not row.recomputed)
    return [n for n in ran if n is not None and (n or root_too) and matches(at, n)]


def _prefix(seen: Sequence[str], order: Sequence[str], *, whole: bool) -> str:
    for i, want in enumerate(order):
        if i >= len(seen):
            return f"{want} did not come: only {len(seen)} came"
        if not matches(want, seen[i]):
            return f"at position {i} came {seen[i]}, not {want}"
    if whole and len(seen) > len(order):
        return f"after them came {listed(seen[len(order) :])}"
    return ""


def _subsequence(seen: Sequence[str], order: Sequence[str]) -> str:
    start = 0
    for i, want in enumerate(order):
        at = next((j for j in range(start, len(seen)) if matches(want, seen[j])), None)
        if at is None:
            earlier = any(matches(want, name) for name in seen[:start])
            after = f" after {order[i - 1]}" if i else ""
            if earlier:
                return f"{want} came before {order[i - 1]}, not after it"
            return f"{want} did not come{after}"
        start = at + 1
    return ""


def judge(report: Report, options: Options) -> Iterator[Finding]:
    """One finding: the first thing that is out of order."""
    order, how, kind = options["order"], options["match"], options["kind"]
    seen = _sequence(report, options)
    if seen is None:
        yield skipped("the events were streamed to a file, and are not in the report")
        return
    if how == "subsequence":
        why = _subsequence(seen, order)
    else:
        why = _prefix(seen, order, whole=how == "exact")
    if not why:
        what = "layers ran" if kind is None else f"{kind} hooks fired"
        yield passed(f"{what} in the stated order ({how})")
        return
    if report.error is not None:
        yield skipped("the run did not come so far")
        return
    place = next((places(report).get(want) for want in order if want in why), None)
    yield Finding("fail", "", f"order of {listed(order)}", why, seen[:20], list(order), place)


RULE = Rule(
    name="firing_order",
    severity="error",
    says="layers run, or hooks of a kind fire, in a stated order",
    computes="Takes the names of the layers in the order in which their forwards started (with "
    "`kind`, the targets of that kind's firings), and looks for the stated ones: as a subsequence, "
    "as the prefix of all, or exactly.",
    formula="stated is a subsequence (prefix, the whole) of the order seen",
    source="hookcli's own",
    fails="a norm that moved from before the attention to behind it",
    mend="see the order that came: hookcli trace shows it",
    example="{rule: firing_order, order: [conv1, bn1, fc], match: subsequence}",
    options=(
        Option("order", "texts", "the names, or globs, in their order", required=True),
        Option("match", "match", "subsequence, prefix or exact", "subsequence"),
        Option("kind", "text", "a kind of hook whose firings to look at, in place of layers"),
        Option("at", "glob", "look at names that match alone", "*"),
    ),
    needs=lambda options: (),
    judge=judge,
)
