"""What the names in a report refer to: the row of a layer, or of a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.report.report import Report


@dataclass(frozen=True, slots=True)
class Reference:
    """The rows of a layer and of a parameter in the tables of a page; -1 if there is none."""

    layer: int = -1
    parameter: int = -1


class References:
    """Finds the rows that names refer to.

    A module that was called several times is represented by its first call. A module that was not
    called has a row after those of the calls, in the order of `report.uncalled`. The targets of a
    training with several records begin with the name of the record.
    """

    def __init__(self, report: Report | None) -> None:
        self._record = "" if report is None or report.training is None else report.training.record
        self._calls: dict[tuple[str, int], int] = {}
        self._layers: dict[str, int] = {}
        self.row_of: dict[int, int] = {}  # by order of the call
        self._parameters: dict[str, int] = {}
        if report is None:
            return
        for row, layer in enumerate(report.layers):
            self.row_of[layer.order] = row
            if layer.name is None:
                continue
            for name in (layer.name, *layer.aliases):
                self._layers.setdefault(name, row)
                self._calls.setdefault((name, layer.call), row)
        for row, module in enumerate(report.uncalled, start=len(report.layers)):
            self._layers.setdefault(module.name, row)
        for row, parameter in enumerate(report.parameters):
            for name in (parameter.name, *parameter.shared_with):
                self._parameters.setdefault(name, row)

    def layer(self, name: str | None, call: int | None = None) -> int:
        """Return the row of a call of a module, or of its first call; -1 if there is none."""
        if name is None:
            return -1
        row = None if call is None else self._calls.get((name, call))
        return self._layers.get(name, -1) if row is None else row

    def owner(self, parameter: str) -> int:
        """Return the row of the nearest module with a row that contains a parameter."""
        name = parameter
        while name:
            name = name.rpartition(".")[0]
            if name in self._layers:
                return self._layers[name]
        return self._layers.get("", -1)

    def of(self, target: str, call: int | None = None) -> Reference:
        """Return what a target refers to: `fc.weight`, `layer1.0`, `fc:output[0]` or a record's."""
        if self._record:
            target = target.removeprefix(f"{self._record}: ")
        name, colon, _ = target.partition(":")
        parameter = -1 if colon else self._parameters.get(target, -1)
        if parameter >= 0:
            return Reference(self.owner(target), parameter)
        row = self.layer(name, call)
        if row < 0 and name in self._parameters:
            return Reference(self.owner(name), self._parameters[name])
        return Reference(row)


NOTHING = References(None)  # of what is not in any report: no name refers to a row
