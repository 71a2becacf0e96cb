"""The rows of parameters with their placements, their places in the mesh, and their parts."""

from __future__ import annotations

import math
from dataclasses import replace

from hookcli.models.model import Model
from hookcli.report.distributed import LocalPart
from hookcli.report.report import ParameterRow, Report
from hookcli.training.norms import local
from hookcli.training.parallel.part_norms import PartNormsKeeper
from hookcli.training.parallel.placements import PLAIN, flat_part, placed


def with_placements(report: Report, model: Model, parts: PartNormsKeeper) -> Report:
    """Return the report of one rank with what its parts of parameters are parts of."""
    tensors = {info.name: info.tensor for info in model.parameters()}

    def row(known: ParameterRow) -> ParameterRow:
        tensor = tensors.get(known.name)
        where = PLAIN if tensor is None else placed(tensor)
        if tensor is None or where is PLAIN:
            return known
        part = flat_part(tensor)
        return replace(
            known,
            placements=where.placements,
            mesh=where.mesh,
            local=LocalPart(tuple(local(tensor).shape) if part is None else (part.has,)),
            shape=known.shape if part is None else part.shape,
            numel=known.numel if part is None else math.prod(part.shape),
            whole=False,
            grad_placements=parts.grad_placements.get(id(tensor)),
        )

    return replace(report, parameters=tuple(map(row, report.parameters)))
