"""How the runs of two trainings differ, apart from their figures: arguments, versions, layers."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping

from hookcli.comparison.matching import alignment, paired_calls
from hookcli.comparison.training.observed import computed_in
from hookcli.comparison.training.record_pairs import RecordPair
from hookcli.comparison.training.training_diff import SettingDiff
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.report.values import Shape
from hookcli.text import counted, join_names

_MOST = 20  # layers that are told


def settings_of(
    a: TrainingReport, b: TrainingReport, pairs: list[RecordPair]
) -> Iterator[SettingDiff]:
    """Yield each property of the runs, records and layers that differs."""
    yield from _differing(None, _of_run(a), _of_run(b))
    for pair in pairs:
        here, there = pair.a, pair.b
        if here is None or there is None or here.training is None or there.training is None:
            continue
        ours, theirs = here.training, there.training
        yield from _differing(ours.record, _of_record(ours), _of_record(theirs))
        yield from _differing(ours.record, _of_precision(here), _of_precision(there))
        layers = dict.fromkeys(_layers(here, there))  # a layer may have several calls
        for name, first, second in itertools.islice(layers, _MOST):
            yield SettingDiff(name, ours.record, first, second)


def _differing(
    record: str | None, a: Mapping[str, str | None], b: Mapping[str, str | None]
) -> Iterator[SettingDiff]:
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            yield SettingDiff(name, record, a.get(name), b.get(name))


def _of_run(report: TrainingReport) -> dict[str, str | None]:
    script, tracking, environment = report.script, report.tracking, report.environment
    return {
        "script": f"-m {script.name}" if script.is_module else script.name,
        "arguments": shlex.join(script.arguments) or None,
        "end": script.ended if script.error is None else f"{script.ended}: {script.error}",
        "exit status": "unknown" if script.status is None else str(script.status),
        "torch": environment.torch,
        "python": environment.python,
        "platform": environment.platform,
        "hookcli": environment.hookcli,
        "ranks": str(tracking.world_size),
        "rank": str(tracking.rank),
        "preset": tracking.preset,
        "observed steps": tracking.steps,
        "--max-steps": None if tracking.max_steps is None else str(tracking.max_steps),
        "--stop-on": tracking.stop_on,
        "--eager": "yes" if tracking.eager else None,
        "observation ended": tracking.detached,
    }


def _of_record(info: TrainingInfo) -> dict[str, str | None]:
    optimizer = info.optimizer
    found: dict[str, str | None] = {
        "name": info.record,
        "root": info.root_type,
        "wrappers": ", ".join(info.wrappers) or None,
        "unit of a step": info.unit,
        "steps": f"{info.total:,}",
        "skipped steps": f"{info.skipped:,}",
        "compiled modules": counted(len(info.compiled), "module") if info.compiled else None,
        "modules in eval mode": join_names(info.eval_modules) or None,
        "parameters without optimizer": join_names(info.unheld) or None,
    }
    if optimizer is None:
        return {**found, "optimizer": None}
    found |= {
        "optimizer": optimizer.type,
        "parameters of the optimizer": str(optimizer.parameters),
        "parameter groups": str(optimizer.groups),
    }
    return found | {
        f"optimizer {name}": f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in optimizer.options.items()
    }


def _of_precision(report: Report) -> dict[str, str | None]:
    """Return the dtypes that layers compute in, and the first factor of a GradScaler."""
    dtypes = dict.fromkeys(dtype for dtype in computed_in(report).values() if dtype is not None)
    steps = () if report.training is None else report.training.steps
    scale = next((row.scale for row in steps if isinstance(row.scale, int | float)), None)
    return {
        "dtype of outputs": join_names(sorted(dtypes)) or None,
        "loss scale": None if scale is None else f"{scale:g}",
    }


def _layers(a: Report, b: Report) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the layers and parameters that differ: (what, in A, in B)."""
    names = alignment(a, b)
    calls = paired_calls(a, b, names)
    there = {id(row) for row in calls.values()}
    for row in a.layers:
        other = calls.get(row.order)
        if other is None:
            yield f"layer {row.name}", row.type, None
        elif other.type != row.type and row.name:
            yield f"layer {row.name}", row.type, other.type
    for row in b.layers:
        if id(row) not in there:
            yield f"layer {row.name}", None, row.type
    ours, theirs = ({p.name: p for p in report.parameters} for report in (a, b))
    pairs = names.pairs(ours, theirs)
    for name, parameter in ours.items():
        partner = theirs.get(pairs.get(name, ""))
        first = _tensor(parameter.shape, parameter.dtype)
        second = None if partner is None else _tensor(partner.shape, partner.dtype)
        if first != second:
            yield f"parameter {name}", first, second
    for name in sorted(theirs.keys() - set(pairs.values())):
        parameter = theirs[name]
        yield f"parameter {name}", None, _tensor(parameter.shape, parameter.dtype)


def _tensor(shape: Shape, dtype: str) -> str:
    return f"{dtype} [{', '.join('*' if size is None else str(size) for size in shape)}]"
