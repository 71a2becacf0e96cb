"""The report of weights: a table of tensors, in a tree by the parts of their names."""

from __future__ import annotations

from hookcli.console import escape
from hookcli.formats.document.document import (
    Block,
    Document,
    Fact,
    FactsBlock,
    Problem,
    ProblemsBlock,
    TableBlock,
    TotalsBlock,
    TreeBlock,
)
from hookcli.formats.names import WEIGHTS, WEIGHTS_COLUMNS
from hookcli.formats.order import notes as order_notes, sort_key
from hookcli.formats.parts.grid import LAST_TURN, Column
from hookcli.formats.parts.style import Style, paint
from hookcli.formats.parts.summary import hidden_rows
from hookcli.formats.parts.text import number, size
from hookcli.formats.view import View
from hookcli.formats.weights.lines import WeightsLine, cell, lines, selected
from hookcli.report.weights.weights_report import WeightsReport, WeightsRow
from hookcli.text import counted

_RIGHT = frozenset(
    name for name, facts in WEIGHTS.items() if facts.stat or name in {"bytes", "numel"}
)
_GIVE_WAY = ("std", "mean", "zeros", "inf", "nan", "bytes")
_WITHOUT_VALUES = ("path", "shape", "dtype", "numel", "bytes")
_NAMED = 5  # tensors that a sentence names
FORMATS = {
    "safetensors": "safetensors",
    "torch": "torch.save",
    "torch_legacy": "torch.save, format of torch before 1.6",
    "distributed": "torch.distributed.checkpoint",
    "gguf": "GGUF",
}


def build(report: WeightsReport, view: View) -> Document:
    """Return the document with one line for each tensor, or for several that look the same."""
    drawn = lines(report, view, folded=True)
    return _document(report, view, _table(report, view, drawn), folded=_folds(drawn))


def build_tree(report: WeightsReport, view: View) -> Document:
    """Return the document with one line for each tensor, none of which is cut or folded."""
    columns = [name for name in _columns(report, view) if name != "path"]
    texts = []
    for line in lines(report, view, folded=False):
        guides = paint(line.guides, Style.FAINT, color=view.color)
        cells = (_labelled(line, name) for name in columns)
        texts.append("  ".join([guides + line.label, *filter(None, cells)]))
    return _document(report, view, TreeBlock(texts), folded=False)


def _labelled(line: WeightsLine, column: str) -> str:
    text = cell(line, column)
    if not text or text == "–":
        return ""
    if column in {"shape", "dtype", "bytes", "file", "part"}:
        return text
    title = WEIGHTS[column].title
    return f"{title if column in {'nan', 'inf'} else title.lower()} {text}"


def _folds(drawn: list[WeightsLine]) -> bool:
    return any(line.row is not None and line.tensors > 1 for line in drawn)


def _document(report: WeightsReport, view: View, body: Block, *, folded: bool) -> Document:
    return Document(
        escape(report.source),
        (
            FactsBlock(facts(report)),
            ProblemsBlock(problems(report), is_main=True),
            body,
            TotalsBlock(totals(report)),
        ),
        notes(report, view, folded=folded),
    )


def facts(report: WeightsReport) -> list[Fact]:
    """Return what was read."""
    kind = FORMATS.get(report.format, escape(report.format))
    if len(report.files) > 1:
        kind += f", {counted(len(report.files), 'file')}"
    made = [Fact("weights", escape(report.source), is_title=True), Fact("format", kind)]
    entries = sorted(report.metadata.items(), key=lambda entry: "optim" in entry[0])
    for key, value in entries[:_MOST_FACTS]:
        text = escape(" ".join(value.split()))
        made.append(Fact(escape(key)[:60], text[:300] + ("…" if len(text) > 300 else "")))
    return made


_MOST_FACTS = 8  # entries of the metadata


def problems(report: WeightsReport) -> list[Problem]:
    """Return which tensors have NaN or infinities, or only zeros."""
    bad = [row for row in report.tensors if row.stats and (row.stats["nans"] or row.stats["infs"])]
    found = []
    if bad:
        found.append(Problem("not finite", _sentence(bad)))
    return found


def _sentence(rows: list[WeightsRow]) -> str:
    parts = []
    for row in rows[:_NAMED]:
        counts = [
            f"{row.stats[key]:,} {word}"
            for key, word in (("nans", "NaN"), ("infs", "Inf"))
            if row.stats and row.stats[key]
        ]
        parts.append(f"{escape(row.name)} ({', '.join(counts)})")
    more = f", and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    return f"{counted(len(rows), 'tensor')}: {', '.join(parts)}{more}"


def totals(report: WeightsReport) -> list[tuple[str, str]]:
    """Return the totals, and those of each dtype."""
    total = report.totals
    pairs = [
        ("Tensors", number(total.tensors)),
        ("Elements", number(total.elements)),
        ("Bytes", size(total.bytes)),
    ]
    if len(report.dtypes) > 1:
        pairs += [
            (
                f"  {escape(row.dtype)}",
                f"{size(row.bytes)} in {counted(row.tensors, 'tensor')}",
            )
            for row in report.dtypes
        ]
    elif report.dtypes:
        pairs.append(("Dtype", escape(report.dtypes[0].dtype)))
    if total.optimizer_tensors:
        text = f"{size(total.optimizer_bytes)} in {counted(total.optimizer_tensors, 'tensor')}"
        pairs.append(("State of the optimizer", text))
    if total.shared_bytes:
        pairs.append(("Shared, counted once", size(total.shared_bytes)))
    return pairs


def notes(report: WeightsReport, view: View, *, folded: bool) -> list[str]:
    """Return the notes below the tensors."""
    order = selected(report, view)
    made = [escape(note) for note in report.warnings]
    if not report.values:
        made.append("values were not read: omit `--no-values` for their statistics")
    made += _unread(report)
    made += _shared(report)
    if folded:
        made.append("a line with several tensors has the statistics of all of them together")
    if view.only is not None and not order.rows:
        made.append(f"no tensor matches --only {escape(view.only)}")
    made += hidden_rows(len(order.rows), len(report.tensors), "tensor") if order.rows else []
    if len(report.metadata) > _MOST_FACTS:
        more = len(report.metadata) - _MOST_FACTS
        made.append(f"{counted(more, 'entry', 'entries')} of the metadata not shown: use `-f json`")
    return [*made, *order_notes(view.sort, order)]


def _unread(report: WeightsReport) -> list[str]:
    reasons: dict[str, list[WeightsRow]] = {}
    for row in report.tensors:
        if row.unread:
            reasons.setdefault(row.unread, []).append(row)
    return [
        f"no statistics of {_names(rows)}: {escape(reason)}" for reason, rows in reasons.items()
    ]


def _shared(report: WeightsReport) -> list[str]:
    shown: set[str] = set()
    made = []
    for row in report.tensors:
        if row.shared_with and row.name not in shown:
            shown.update((row.name, *row.shared_with))
            others = ", ".join(map(escape, row.shared_with[:_NAMED]))
            more = ", …" if len(row.shared_with) > _NAMED else ""
            made.append(f"{escape(row.name)} shares its storage with {others}{more}")
        if len(made) == _NAMED:
            made.append("more tensors share storage: see the column `shared`")
            break
    return made


def _names(rows: list[WeightsRow]) -> str:
    names = ", ".join(escape(row.name) for row in rows[:_NAMED])
    more = len(rows) - _NAMED
    return f"{names} and {more:,} more" if more > 0 else names


def _columns(report: WeightsReport, view: View) -> list[str]:
    """Return the columns that were asked for, else those that this report can fill."""
    if view.asked is not None:
        return list(view.asked)
    names = list(WEIGHTS_COLUMNS if report.values else _WITHOUT_VALUES)
    by = sort_key(view.sort or "path")
    extra = by not in names and by not in {"name", "order"}
    return [*names, by] if extra else names


def _table(report: WeightsReport, view: View, drawn: list[WeightsLine]) -> TableBlock[WeightsLine]:
    asked = view.asked is not None
    return TableBlock(
        {name: _column(name) for name in _columns(report, view)},
        drawn,
        "tensor",
        give_way=() if asked else _GIVE_WAY,
        selectable=True,
        keeps_titles=True,
    )


def _column(name: str) -> Column[WeightsLine]:
    title = WEIGHTS[name].title
    if name in {"path", "name"}:
        return Column(
            title,
            _label
            if name == "path"
            else lambda line: "" if line.row is None else escape(line.row.name),
            turns=((2, 30), (4, 16)),
            guides=lambda line, _cell: len(line.guides),
            nested=lambda line: (len(line.guides) // 3, line.label),
        )
    turns = ((1, 24), (3, 13)) if name == "shape" else ((0, 16), (LAST_TURN, 8))
    free = name in {"shape", "file", "shared"}
    return Column(
        title,
        lambda line: cell(line, name),
        right=name in _RIGHT,
        turns=turns if free else (),
        grow=not free,
    )


def _label(line: WeightsLine) -> str:
    return line.guides + line.label
