"""What a record says of the ranks of its training: the joined ones, and how tensors are placed."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.console import escape
from hookcli.report.distributed import MeshPlace, RankParting
from hookcli.report.steps import TrainingInfo


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
            where = " and ".join(group.placements) or "plain tensors"
            over = "" if group.mesh is None else f" over {_size(group.mesh)}"
            yield f"{group.parameters:,} parameters", escape(where) + over


def meshes(info: TrainingInfo) -> list[str]:
    """Return the meshes of a record: "dp 2 × tp 2"."""
    found = [_size(group.mesh) for group in info.groups or () if group.mesh is not None]
    return list(dict.fromkeys(found))


def _size(mesh: MeshPlace) -> str:
    pairs = zip(mesh.names, mesh.sizes, strict=False)
    return escape(" × ".join(f"{name} {size:,}" for name, size in pairs))


def parting(one: RankParting) -> tuple[str, str]:
    """Return the label and the text of a difference between ranks."""
    step = "" if one.step is None else f" {'before' if one.before else 'at'} step {one.step:,}"
    values = "" if one.value is None else f": {one.value}, not {one.of_other}"
    target = f" of {one.target}" if one.target else ""
    return f"rank {one.rank}", escape(f"{one.what}{target} differ{step}{values}")
