"""Names of the CUDA graphs of a run, which have none of their own."""

from __future__ import annotations

import itertools
from typing import Any
from weakref import WeakKeyDictionary


class GraphNames:
    """Numbers graphs in the order in which the run first meets them; keeps none of them alive."""

    def __init__(self) -> None:
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._numbers = itertools.count()

    def of(self, graph: Any) -> str:
        """Return the name of a graph: `CUDAGraph[0]`."""
        name = self._names.get(graph)
        if name is None:
            name = self._names[graph] = f"{type(graph).__name__}[{next(self._numbers)}]"
        return name
