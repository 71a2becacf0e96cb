"""Every kind of hook, in one table. `list hooks`, `explain`, validation and the docs read it.

It does not import torch. A test compares it with the functions that attach the hooks.
"""

from __future__ import annotations

from hookcli.catalogue import autograd_kinds, graph_kinds, module_kinds, run_kinds
from hookcli.catalogue.kind import Kind, LayerFigures

LIST_HINT = "run `hookcli list hooks`"  # for an unknown kind

CATALOGUE: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        *module_kinds.KINDS, *autograd_kinds.KINDS, *run_kinds.KINDS, *graph_kinds.KINDS,
    )
}  # fmt: skip

# The kinds whose events have the figures of a layer's output, and of the gradient there.
OUTPUTS, OUTPUT_GRADIENTS = (
    next(kind.name for kind in CATALOGUE.values() if kind.layer == LayerFigures(of, "output"))
    for of in ("value", "gradient")
)
