"""Every kind of hook: one table. `list hooks`, `explain`, validation and the docs read it.

Torch-free. A test holds it against the functions that attach.
"""

from __future__ import annotations

from hookcli.catalogue import autograd_kinds, module_kinds, run_kinds
from hookcli.catalogue.kind import Kind

CATALOGUE: dict[str, Kind] = {
    kind.name: kind for kind in (*module_kinds.KINDS, *autograd_kinds.KINDS, *run_kinds.KINDS)
}
