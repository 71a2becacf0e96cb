"""The results of several ranks: buckets, shards, missing gradients and differences from rank 0."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.document.ranks import alarms, sentence, totals
from hookcli.formats.html.data.columns import rounded, text_column
from hookcli.formats.html.data.references import References
from hookcli.report.distributed import BucketRow, RankRow, UnitRow
from hookcli.report.report import Report


def ranks(report: Report, references: References) -> dict[str, Any] | None:
    """Return the results of the ranks, None if there was only one.

    `facts` and `alarms` are labels with texts. `names` has the names of parameters; the buckets,
    units and unreached parameters have their indices in it, and `rows` their rows.
    """
    distributed = report.distributed
    if distributed is None:
        return None
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
