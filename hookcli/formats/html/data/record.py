"""All data of one report: a record of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.console import escape
from hookcli.formats.document.ranks import alarms, sentence, totals
from hookcli.formats.html.data.columns import figures, histogram, rounded, sparse, text_column
from hookcli.formats.html.data.errors import error
from hookcli.formats.html.data.findings import checks, diagnosis
from hookcli.formats.html.data.layers import layers, tensor
from hookcli.formats.html.data.references import References
from hookcli.formats.parts import summary
from hookcli.formats.parts.color_scale import PALETTE, cell_kind, robust_range
from hookcli.formats.parts.text import figure, leaves_full, shape
from hookcli.formats.trace.events import recorded
from hookcli.formats.training import joined
from hookcli.formats.training.facts import figures as figures_of_steps, problems, title
from hookcli.report.distributed import BucketRow, RankRow, UnitRow
from hookcli.report.events import EventRow, Streamed
from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.values import Leaf

_FIGURES = ("loss", "grad_norm", "lr", "update_ratio", "update_norm", "weight_norm", "scale")
_COUNTS = ("forwards", "backwards", "missing", "zero", "non_finite")


def training(report: Report, references: References) -> dict[str, Any] | None:
    """Return the steps of a record, None if the report is not one of a training.

    `steps` has columns; a column without any value is None. `updates` has the row of each
    parameter, its ratios in the sampled steps, and a word if its values did not change.
    """
    info = report.training
    if info is None:
        return None
    return {
        "title": title(report),
        "summary": [*figures_of_steps(report), *problems(report)],
        "unit": info.unit,
        "total": info.total,
        "sampled": list(info.sampled),
        "facts": _facts(info),
        "unheld": [[escape(name), references.of(name).parameter] for name in info.unheld],
        "steps": _steps(info.steps),
        "updates": _updates(info, references),
    }


def _steps(rows: Sequence[StepRow]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {"step": [row.step for row in rows]}
    for name in _FIGURES:
        columns[name] = [rounded(getattr(row, name)) for row in rows]
    for name in _COUNTS:
        columns[name] = [getattr(row, name) for row in rows]
    columns["sampled"] = [int(row.sampled) for row in rows]
    columns["skipped"] = [int(row.skipped or 0) for row in rows]
    return {
        name: None if all(value is None for value in values) else values
        for name, values in columns.items()
    }


def _updates(info: TrainingInfo, references: References) -> list[list[Any]]:
    return [
        [
            escape(row.name),
            references.of(row.name).parameter,
            [rounded(ratio) for ratio in row.ratios],
            "restored" if row.restored else "unchanged" if row.changed is False else "",
        ]
        for row in info.updates
    ]


def _facts(info: TrainingInfo) -> list[tuple[str, str]]:
    """Return labels and texts about the root, its optimizer and what was seen of them."""
    facts = [("root", escape(f"{info.root} ({info.root_type})"))]
    if info.wrappers:
        facts.append(("wrapped in", escape(", ".join(info.wrappers))))
    facts += _of_optimizer(info)
    facts.append(("calls", "not known" if info.calls is None else f"{info.calls:,}"))
    counts = (("evaluations", info.evaluations), ("calls without graph", info.graphless))
    facts += [(label, f"{count:,}") for label, count in counts if count]
    if info.every > 1:
        facts.append(("steps in this page", f"one in {info.every:,}, and those in detail"))
    lists = (
        ("compiled", info.compiled),
        ("in eval mode", info.eval_modules),
        ("in turns with", info.together or ()),
    )
    facts += [(label, escape(", ".join(names))) for label, names in lists if names]
    return facts


def _of_optimizer(info: TrainingInfo) -> list[tuple[str, str]]:
    optimizer = info.optimizer
    if optimizer is None:
        return [("optimizer", "none")]
    merged = f", {optimizer.merged:,} counted as one" if optimizer.merged > 1 else ""
    groups = f", {optimizer.groups:,} groups" if optimizer.groups > 1 else ""
    facts = [
        ("optimizer", escape(optimizer.type) + merged),
        ("parameters held", f"{optimizer.parameters:,}{groups}"),
    ]
    if optimizer.elsewhere:
        facts.append(("held, of other modules", f"{optimizer.elsewhere:,}"))
    options = [
        f"{escape(key)}={str(value).lower() if isinstance(value, bool) else figure(value)}"
        for key, value in optimizer.options.items()
    ]
    if options:
        facts.append(("options", ", ".join(options)))
    return facts


def ranks(report: Report, references: References) -> dict[str, Any] | None:
    """Return the results of the ranks, None if there was only one.

    `facts` and `alarms` are labels with texts. `names` has the names of parameters; the buckets,
    units and unreached parameters have their indices in it, and `rows` their rows.
    """
    distributed = report.distributed
    if distributed is None:
        return None if report.training is None else _of_training(report.training)
    index = _Names(references)
    return {
        "world": distributed.world_size,
        "facts": totals(report),
        "alarms": alarms(report),
        "buckets": [_bucket(row, index) for row in distributed.buckets],
        "units": [_unit(row, index, references) for row in distributed.units],
        "unreached": [[index.at(row.parameter), list(row.ranks)] for row in distributed.unreached],
        "ranks": [_rank(row, references) for row in distributed.ranks],
        "names": index.texts(),
        "rows": index.rows,
    }


def _of_training(info: TrainingInfo) -> dict[str, Any] | None:
    """Return the ranks of a training that were joined, with the mesh and where they part."""
    if info.joined is None and not info.groups:
        return None
    empty: dict[str, list[Any]] = {
        name: [] for name in ("buckets", "units", "unreached", "ranks", "names", "rows")
    }
    return {
        "world": 1 if info.joined is None else info.joined.count,
        "facts": list(joined.facts(info)),
        "alarms": [joined.parting(one) for one in info.partings or ()],
        **empty,
    }


class _Names:
    """The names of parameters, each once."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._index: dict[str, int] = {}
        self.rows: list[int] = []

    def at(self, name: str) -> int:
        if name not in self._index:
            self._index[name] = len(self._index)
            self.rows.append(self._references.of(name).parameter)
        return self._index[name]

    def texts(self) -> list[str]:
        return list(text_column(self._index)["texts"])


def _bucket(row: BucketRow, index: _Names) -> dict[str, Any]:
    return {
        "step": row.step,
        "index": row.index,
        "order": row.order,
        "last": row.last,
        "bytes": row.bytes,
        "dtype": escape(row.dtype),
        "parameters": [index.at(name) for name in row.parameters],
        "before": [rounded(norm) for norm in row.norms_before],
        "after": rounded(row.norm_after),
        "exact": rounded(row.norm_exact),
        "error": rounded(row.error),
        "wire": row.wire_bytes,
        "plain": row.plain_bytes,
    }


def _unit(row: UnitRow, index: _Names, references: References) -> dict[str, Any]:
    return {
        "module": escape(row.module) or "the model",
        "layer": references.layer(row.module),
        "parameters": [index.at(name) for name in row.parameters],
        "bytes": row.bytes,
        "shard": row.shard_bytes,
    }


def _rank(row: RankRow, references: References) -> dict[str, Any]:
    differs = []
    for difference in row.differs:
        at = references.of(difference.target)
        differs.append([sentence(difference), at.layer, at.parameter])
    return {
        "rank": row.rank,
        "status": row.status,
        "losses": [rounded(loss) for loss in row.losses],
        "error": None if row.error is None else escape(row.error),
        "differs": differs,
    }


def parameters(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all parameters; `layer` is the row of the module that owns each.

    `steps` are the numbers of the steps, and `grid` has a list for each parameter with the norm of
    its gradient in each: a number, 0 if all its elements are zero, "nan", "inf", None for no
    gradient, "frozen" if it needs none, "" if it was not measured. `scale` has the norms at the
    ends of `palette`, None if no gradient has a norm above 0.
    """
    rows = report.parameters
    steps = sorted({entry["step"] for row in rows for entry in row.numbered_steps()})
    grid = [_cells(row, steps) for row in rows] if steps else []
    shown = (cell for cells in grid for cell in cells) if steps else (_norm(r.grad) for r in rows)
    span = robust_range(shown)
    return {
        "count": len(rows),
        "name": text_column(r.name for r in rows),
        "layer": [references.owner(r.name) for r in rows],
        "module_type": text_column(r.module_type for r in rows),
        "shape": text_column(shape(r.shape) for r in rows),
        "dtype": text_column(r.dtype for r in rows),
        "numel": [r.numel for r in rows],
        "requires_grad": [int(r.requires_grad) for r in rows],
        "status": text_column(r.status for r in rows),
        "weight_norm": [_norm(r.stats) for r in rows],
        "grad_norm": [_norm(r.grad) for r in rows],
        "ratio": [rounded(r.grad_to_weight) for r in rows],
        "shared_with": sparse([escape(n) for n in r.shared_with] for r in rows),
        "placements": sparse(joined.placed(r) for r in rows),
        "part": sparse(None if r.local is None else shape(r.local.shape) for r in rows),
        "weight": sparse(figures(r.stats) for r in rows),
        "grad": sparse(figures(r.grad) for r in rows),
        "steps": steps,
        "grid": grid,
        "scale": None if span is None else [rounded(norm) for norm in span],
        "palette": ["#{:02x}{:02x}{:02x}".format(*color) for color in PALETTE],
    }


def _norm(stats: dict[str, Any] | None) -> Any:
    return None if stats is None else rounded(stats.get("norm"))


def _cells(row: ParameterRow, steps: list[int]) -> list[Any]:
    by_step = {e["step"]: _cell(e["grad"], e.get("status")) for e in row.numbered_steps()}
    return [by_step.get(step, "") for step in steps]


def _cell(grad: dict[str, Any] | None, status: str | None) -> Any:
    cell = cell_kind(grad, status)
    if cell == "value":
        return _norm(grad)
    if cell == "zero":
        return "" if status == "ok" else 0  # ok: another rank has the elements
    return {"none": None, "unknown": ""}.get(cell, cell)


def events(report: Report, references: References) -> dict[str, Any]:
    """Return the columns of all events; `layer` and `parameter` are the rows that each refers to.

    `changed` is the 2-norm of what the hook changed. `changes` has [path, figures before, figures
    after, shapes, dtypes] for each tensor that a hook changed, the last two as pairs if they
    differ, and `tensors` those with statistics. `histograms` has [path, low, high, counts] for each
    tensor whose values were counted. `streamed`
    names the file that has the events, if they are not in the report. `kinds` tells when each kind
    fires, in a sentence, and whether that is before or after the forward of its module.
    """
    rows = recorded(report)
    at = [references.of(row.target, row.call) for row in rows]
    return {
        "count": len(rows),
        "seq": [r.seq for r in rows],
        "step": [r.step for r in rows],
        "phase": text_column(r.phase for r in rows),
        "kind": text_column(r.kind for r in rows),
        "target": text_column(r.target for r in rows),
        "call": [r.call for r in rows],
        "node": text_column(r.node for r in rows),
        "hook": [r.hook for r in rows],
        "values": text_column(leaves_full(r.values) for r in rows),
        "changed": [rounded(r.changed) for r in rows],
        "recomputed": [int(r.recomputed) for r in rows],
        "rank": [r.rank for r in rows],
        "layer": [reference.layer for reference in at],
        "parameter": [reference.parameter for reference in at],
        "tensors": sparse(_tensors(r) for r in rows),
        "histograms": sparse(_histograms(r) for r in rows),
        "changes": sparse(_changes(r) for r in rows),
        "kinds": {escape(name): _kind(name) for name in dict.fromkeys(r.kind for r in rows)},
        "streamed": report.events.file if isinstance(report.events, Streamed) else None,
    }


def _kind(name: str) -> dict[str, str | None]:
    kind = CATALOGUE.get(name)
    if kind is None:
        return {"fires": None, "moment": None}
    return {"fires": kind.fires, "moment": None if kind.moment is None else kind.moment.value}


def _tensors(row: EventRow) -> list[Any]:
    return [tensor(leaf) for leaf in row.values] if any(v.stats for v in row.values) else []


def _histograms(row: EventRow) -> list[Any]:
    found = ((leaf.path, histogram(leaf.stats)) for leaf in row.values)
    return [[escape(path), *counted] for path, counted in found if counted is not None]


def _changes(row: EventRow) -> list[Any]:
    return [
        [
            escape(change.path),
            figures(change.before),
            figures(change.after),
            None if change.shapes is None else [s and shape(s) for s in change.shapes],
            None if change.dtypes is None else [d and escape(d) for d in change.dtypes],
        ]
        for change in row.changes or ()
    ]


def edges(report: Report, references: References) -> dict[str, Any] | None:
    """Return the columns of all edges, None if the report has none.

    `source` and `target` are rows of layers; a source of -1 is the batch. `end` is 1 if the tensor
    is part of the target's output, not of its input. `output` and `input` are the paths of the
    tensor at the source and at the target, `made` and `shape` its shapes there. `through` has the
    operators between them, the nearest to the target last.
    """
    rows = report.edges
    if rows is None:
        return None
    layers = {layer.order: layer for layer in report.layers}
    row_of = references.row_of
    known = [r for r in rows if r.target in row_of and (r.source is None or r.source in row_of)]
    return {
        "count": len(known),
        "source": [-1 if r.source is None else row_of[r.source] for r in known],
        "target": [row_of[r.target] for r in known],
        "end": [int(r.end == "output") for r in known],
        "output": text_column(r.output for r in known),
        "input": text_column(r.input for r in known),
        "made": text_column(_made(layers, r.source, r.output) for r in known),
        "shape": text_column(_arrived(layers[r.target], r.end, r.input) for r in known),
        "through": text_column(", ".join(r.through) for r in known),
    }


def _made(layers: dict[int, LayerRow], source: int | None, path: str) -> str | None:
    """Return the shape of a tensor that a call made; a batch's is known where it arrives."""
    return None if source is None else _shape(layers[source].outputs, path)


def _arrived(layer: LayerRow, end: str, path: str) -> str | None:
    return _shape(layer.outputs if end == "output" else layer.inputs, path)


def _shape(leaves: tuple[Leaf, ...], path: str) -> str | None:
    return next((shape(leaf.shape) for leaf in leaves if leaf.path == path), None)


def record(report: Report, name: str = "") -> dict[str, Any]:
    """Return the tables of a report for the scripts of a page; `name` is that of a record."""
    references = References(report)
    return {
        "name": escape(name),
        "command": report.command,
        "model": escape(report.model.type or report.model.source),
        "layers": layers(report, references),
        "parameters": parameters(report, references),
        "events": events(report, references),
        "edges": edges(report, references),
        "checks": checks(report.checks, references),
        "diagnoses": [diagnosis(row, references) for row in report.diagnoses or ()],
        "totals": summary.totals(report),
        "distributed": ranks(report, references),
        "training": training(report, references),
        "error": error(report.error, references),
    }
