"""What a record says of the ranks of its training: the joined ones, and how tensors are placed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookcli.console import escape
from hookcli.report.distributed import MeshPlace, RankParting
from hookcli.report.report import ParameterRow
from hookcli.report.steps import TrainingInfo
from hookcli.text import counted

_UNNAMED = re.compile("dim [0-9]+")  # a dimension of a mesh that has no names


def phrases(info: TrainingInfo) -> Iterator[str]:
    """Yield short phrases: the mesh, and the ranks whose files are missing."""
    for name in meshes(info):
        yield f"on the mesh {name}"
    if info.joined is not None and info.joined.missing is not None:
        yield f"without the files of rank {escape(info.joined.missing)}"


def facts(info: TrainingInfo) -> Iterator[tuple[str, str]]:
    """Yield labels with texts: ranks, meshes, and the placements of parameters."""
    if info.joined is not None:
        yield "ranks joined", escape(info.joined.ranks)
        if info.joined.missing is not None:
            yield "ranks without a file", escape(info.joined.missing)
        if info.joined.steps:
            yield "copies compared", f"around {info.joined.steps:,} steps"
    for name in meshes(info):
        yield "mesh", name
    for group in info.groups or ():
        if group.parameters:
            yield counted(group.parameters, "parameter"), _where(group.placements, group.mesh)


def placed(row: ParameterRow) -> str | None:
    """Return how ranks have a parameter: "Shard(0) over tp 2"; None if it is a plain tensor."""
    return None if row.placements is None else _where(row.placements, row.mesh)


def _where(placements: tuple[str, ...], mesh: MeshPlace | None) -> str:
    over = "" if mesh is None else f" over {_size(mesh)}"
    return escape(" and ".join(placements) or "plain tensors") + over


def meshes(info: TrainingInfo) -> list[str]:
    """Return the meshes of a record: "dp 2 × tp 2"."""
    found = [_size(group.mesh) for group in info.groups or () if group.mesh is not None]
    return list(dict.fromkeys(found))


def _size(mesh: MeshPlace) -> str:
    pairs = zip(mesh.names, mesh.sizes, strict=False)
    return escape(
        " × ".join(
            f"{name} of size {size:,}" if _UNNAMED.fullmatch(name) else f"{name} {size:,}"
            for name, size in pairs
        )
    )


def parting(one: RankParting) -> tuple[str, str]:
    """Return the label and the text of a difference between ranks."""
    is_digest = one.what == "parameters"
    when = ("before" if one.before else "after") if is_digest else "at"
    step = "" if one.step is None else f" {when} step {one.step:,}"
    first = f", first {one.target}" if one.target and is_digest else ""
    of = f" of {one.target}" if one.target and not is_digest else ""
    values = "" if is_digest or one.value is None else f": {_figure(one.value)}"
    values += f", not {_figure(one.of_other)}" if values else ""
    verb = "differs" if one.what in {"learning rate", "optimizer"} else "differ"
    text = f"{one.what}{of} {verb} from rank {one.other}{step}{first}{values}"
    return f"rank {one.rank}", escape(text)


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
