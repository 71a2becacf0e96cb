"""`grad_exists`: trainable parameters that a backward pass does not reach."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.model import ParameterRow, Report
from hookcli.rules.rule import Finding, Option, Options, Rule, passed, skipped
from hookcli.rules.targets import counted, listed, matches, owner, parameters_at, places

_SAID = {
    "none": "got no gradient: the loss does not reach {them}",
    "zero": "got a gradient that is exactly zero: what {they} make is multiplied by zero, or cut",
}


def _group(rows: list[ParameterRow]) -> Iterator[tuple[str, str, list[ParameterRow]]]:
    """The parameters of each module that share a state."""
    groups: dict[tuple[str, str], list[ParameterRow]] = {}
    for row in rows:
        if row.status is not None and row.status in _SAID:
            groups.setdefault((owner(row.name), row.status), []).append(row)
    for (module, status), found in groups.items():
        yield module, status, found


def _silent(report: Report, module: str) -> bool:
    """Whether the module never ran, itself or by what it stands in."""
    return any(matches(row.name, module) for row in report.uncalled)


def judge(report: Report, options: Options) -> Iterator[Finding]:
    """A finding for each module with trainable parameters that got none, or only zeros."""
    rows = list(parameters_at(report, options["at"]))
    if all(row.status is None for row in report.parameters):
        yield skipped("no backward pass ran")
        return
    if not rows:
        yield Finding("error", "", "no match", f"no parameter matches {listed(options['at'])}")
        return
    where = places(report)
    count = 0
    for module, status, found in _group(rows):
        count += 1
        names = [row.name.removeprefix(f"{module}.") for row in found]
        alone = len(names) == 1
        said = _SAID[status].format(they="it" if alone else "they", them="it" if alone else "them")
        said = said.replace("it make", "it makes")
        why = "; the module never ran" if status == "none" and _silent(report, module) else ""
        yield Finding(
            "fail", module, status, f"{listed(names)} {said}{why}", len(found), 0, where.get(module)
        )
    if not count:
        frozen = sum(row.status == "frozen" for row in rows)
        aside = f"; {frozen:,} frozen" if frozen else ""
        reached = counted(len(rows) - frozen, "parameter")
        yield passed(f"a gradient reached {reached}{aside}", value=0, limit=0)


RULE = Rule(
    name="grad_exists",
    severity="warning",
    safe=True,
    says="every trainable parameter gets a gradient, and not only zeros",
    computes="After a backward pass each parameter is in one state: reached, unreachable (its "
    ".grad is None), exactly zero in every element, or frozen (requires_grad is false). The first "
    "and the last are fine.",
    formula="requires_grad implies grad is not None and max |grad| > 0",
    source="pytorch#57776: torch says nothing of a parameter that no gradient reaches",
    fails="self.head = nn.Linear(8, 2) that forward never uses; x.detach() before the encoder",
    mend="use the module, freeze it with requires_grad_(False), or take it out. A zero where a "
    "layer behind it starts at zero, as in LoRA, goes away after the first step",
    example='{rule: grad_exists, at: "encoder.*", severity: error}',
    options=(Option("at", "globs", "the parameters, by glob", ("*",)),),
    needs=lambda options: ("backward",),
    judge=judge,
)
