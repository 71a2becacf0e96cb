"""`uncalled_modules`: modules that never ran, and BatchNorms that stages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from hookcli.report.path_ends.end_rows import REASON
from hookcli.report.report import LayerRow, Report, UncalledRow
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, never_ran, passed, skipped
from hookcli.rules.select import matches, modules_above, runs_in_another
from hookcli.rules.training.series import calls_without_graph_only, trained_between
from hookcli.spec.checks import BACKWARD, request_probe
from hookcli.text import counted, pluralize

ROUTES = "other_routes"
# With a gradient, the parameters of a module were used although it was not called.
_USED = {"ok", "zero", "non_finite"}
# A module whose parameters can have no gradient may be used without a call, by its weights.
_UNKNOWN = {"frozen", None}


def _own(report: Report) -> dict[str, set[str | None]]:
    """Return the statuses of all parameters at or below each name.

    One that is trained between the sampled steps counts as reached.
    """
    states: dict[str, set[str | None]] = {}
    between = trained_between(report)
    for row in report.parameters:
        status = "ok" if row.name in between else row.status
        for name in (row.name, *row.shared_with):
            while name:
                name = name.rpartition(".")[0]
                states.setdefault(name, set()).add(status)
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


def chosen_by_run(report: Report) -> set[str]:
    """Return the modules that run with other random numbers or inputs, as was measured."""
    found: set[str] = set()
    for row in report.measurements:
        if row.probe == ROUTES and isinstance(row.value, Mapping):
            found.update(row.value.get("modules", ()))
    return found


def used_without_call(report: Report) -> set[str]:
    """Return the parts of the model whose parameters an operator used, as was measured.

    Their modules were not called, but read, as `self.pos.weight` or `self.block.forward(x)` does.
    """
    return {
        part
        for row in report.measurements
        if row.probe == REASON and isinstance(row.value, Mapping)
        if row.value.get("why") not in {None, "unused"}
        for part in row.value.get("cut_off", ())
    }


def _top(rows: tuple[UncalledRow, ...]) -> Iterator[UncalledRow]:
    """Yield the modules that are not inside another of the rows."""
    names = {row.name for row in rows}
    if "" in names:  # all others are inside the model itself
        yield next(row for row in rows if row.name == "")
        return
    for row in rows:
        above = row.name
        while above and (above := above.rpartition(".")[0]) not in names:
            pass
        if not above:
            yield row


def _again(report: Report) -> Iterator[RuleFinding]:
    """Yield a finding for each BatchNorm in train mode that several stages of a forward share.

    A siamese network runs its BatchNorm as often as the layers around it, which is no fault.
    """
    norms = [
        row
        for row in report.layers
        if "BatchNorm" in row.type and row.training and not row.recomputed and row.name
    ]
    last = {row.name: row for row in norms}
    if len(last) == len(norms):
        return
    inside = _inside(report)
    for name in _shared_by_stages(norms, inside):
        row = last[name]
        message = (
            f"ran {row.call + 1} times in one forward, each time updating its running statistics"
        )
        yield RuleFinding(
            "fail", name, "batch norm again", message, row.call + 1, 1, row.place,
            advice="if the calls see different kinds of data, give each a BatchNorm of its own",
        )  # fmt: skip


def _is_read(module: str, used: set[str]) -> bool:
    return any(part.startswith(f"{module}.") for part in used)


def _inside(report: Report) -> dict[int | None, list[str]]:
    """Return the names of the layers with parameters that each call runs directly, in order."""
    inside: dict[int | None, list[str]] = {}
    for row in report.layers:
        if row.name and row.parameters != 0 and not row.recomputed:
            inside.setdefault(row.parent, []).append(row.name)
    return inside


def _shared_by_stages(norms: list[LayerRow], inside: dict[int | None, list[str]]) -> Iterator[str]:
    """Yield the BatchNorms that one call repeats without the layer before or after."""
    times = Counter((row.name, row.parent) for row in norms)
    found: dict[str, None] = {}
    for (name, parent), count in times.items():
        if name is None or count == 1:
            continue
        names = ["", *inside.get(parent, []), ""]
        at = [i for i, other in enumerate(names) if other == name]
        around = ({names[i - 1] for i in at}, {names[i + 1] for i in at})
        if not any(len(beside) == 1 and beside - {"", name} for beside in around):
            found[name] = None
    yield from found


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each; a module inside another that never ran is not reported."""
    if report.error is not None:
        return
    if calls_without_graph_only(report.training):
        yield skipped("every call is under no_grad, where modules are not observed")
        return
    # A method that runs in place of forward calls a part of the model: the user chose it.
    uncalled = () if report.run.method else report.uncalled
    states = _own(report) if uncalled else {}
    unheld = _unheld(report) if uncalled else set()
    chosen = chosen_by_run(report) if uncalled else set()
    used = used_without_call(report) if uncalled else set()
    aside, unknown, healthy = 0, 0, True
    for row in _top(uncalled):
        if not matches(options["at"], row.name):
            continue
        statuses = states.get(row.name)
        if statuses is None and not options["all"]:
            aside += 1
            continue
        if (statuses is not None and statuses & _USED) or row.name in chosen:
            continue
        if not used.isdisjoint((row.name, *modules_above(row.name))) or _is_read(row.name, used):
            continue
        if report.training is not None and (statuses == {"frozen"} or row.name in unheld):
            continue  # such as an EMA copy, which the script writes and does not train
        if statuses is not None and statuses <= _UNKNOWN and not options["all"]:
            unknown += 1
            continue
        healthy = False
        text = never_ran(row.type)
        if statuses is not None:
            text += ", but has parameters"
        other = runs_in_another(report, row.name)
        if other is not None:
            text += f"; it ran in '{other}', which has the same class"
        yield RuleFinding(
            "fail", row.name, "never ran", text, 0, 1, row.place,
            severity=None if other is None else "note",
        )  # fmt: skip
    again = list(_again(report))
    yield from again
    if unknown and healthy and not again:
        verb = pluralize(unknown, "was", "were")
        yield skipped(
            f"{counted(unknown, 'module')} {verb} not called, but without gradients the use of "
            "weights is not known"
        )
    elif healthy and not again and report.uncalled and report.run.method:
        yield skipped(f"{report.run.method} ran in place of forward, and calls a part of the model")
    elif healthy and not again:
        text = f" ({counted(aside, 'module')} without parameters did not)" if aside else ""
        yield passed(f"{counted(report.totals.layers, 'module')} ran{text}")


RULE = Rule(
    name="uncalled_modules",
    severity="warning",
    safe=True,
    diagnoses=True,
    looks_at="modules",
    of_training=True,
    says="every module with parameters runs, and no stages of a forward share a BatchNorm",
    computes="Compares the registered modules with those that were called. A module whose "
    "parameters got a gradient without a call counts as called. Only with `all` are modules "
    "checked that have no parameters, or none that can get a gradient. A module that runs with "
    "other random numbers or inputs, or is in one list with such modules, is not reported: layers "
    "may be dropped, and samples sent to experts. It is a note if the same part of another module "
    "of the same class ran, as of a block that only a decoder uses whole. A BatchNorm in train "
    "mode updates its running statistics in each call. It is reported if one call of a module runs "
    "it repeatedly, unless the layer before or after it repeats too, as in a siamese network.",
    formula="calls(module) >= 1; calls(BatchNorm in training) <= calls of the layer beside it",
    source="torch-audit TA500 and TA501",
    fails="self.dropout2 is constructed but forward calls self.dropout1 twice; self.norm "
    "after self.conv1 and after self.conv2",
    mend="call it, or remove it from the constructor",
    example='{rule: uncalled_modules, at: "encoder.*", all: true}',
    options=(
        RuleOption("at", "glob", "glob of module names", "*"),
        RuleOption(
            "all",
            "flag",
            "check modules without trainable parameters too",
            False,
        ),
    ),
    needs=lambda options: (BACKWARD, request_probe(ROUTES)),
    watches=lambda options: (request_probe(ROUTES),),
    judge=judge,
)
