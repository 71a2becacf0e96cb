"""Parts of a script's models that are trained although they should be frozen, or the other way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from hookcli.models import module_tree, places
from hookcli.training.norms import gradient_norm
from hookcli.training.observers.observer import LookSchedule, Observer
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.watched_function import TorchCall

_LEAST = 3  # looks
_MOST = 1_000  # optimizers
# Names by which an attribute of a parameter is meant to be `requires_grad`.
_MISTYPED = {
    "require_grad", "required_grad", "requires_grads", "require_grads", "requiresgrad",
    "requires_gradient", "require_gradient",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Starving:
    """An optimizer that stepped without a gradient; `parameters` are the ids of its own.

    `holder` is the place and the type of one that has the parameters of the root with gradients.
    """

    place: str | None
    type: str
    parameters: set[int]
    holder: tuple[str | None, str] | None


class TrainedParts(Observer):
    """Finds `requires_grad` set on modules, and roots with gradients that no optimizer has."""

    kinds = ("requires_grad_attribute", "unheld_root", "starved_optimizer")
    after = {"load_state_dict": "loaded"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._schedule = LookSchedule()
        self._places: dict[int, str | None] = {}  # where optimizers were constructed
        self._loaded: set[int] = set()  # ids of modules
        # By the number of a root: how often it was seen without an optimizer, and its values then.
        self._looks: dict[int, int] = {}
        self._values: dict[int, tuple[float, ...]] = {}
        self._trained_with: dict[int, tuple[str | None, str]] = {}  # optimizers: place and type
        self._starved: dict[int, int] = {}  # looks, by the number of a root
        self._starving: dict[int, _Starving] = {}
        self._root_schedule = LookSchedule()

    def constructed(self, optimizer: Any, place: str | None) -> None:
        """Note where an optimizer is constructed."""
        if len(self._places) < _MOST:
            self._places[self.seen.key_of(optimizer)] = place

    def loaded(self, call: TorchCall) -> None:
        """Note a module that is loaded: it may be used as it is."""
        module = call.argument(0, "self")
        self._loaded.update(id(part) for part in module.modules())

    def before_step(self, optimizer: Any, records: Sequence[Record]) -> None:
        """Look at the roots that have gradients now."""
        for root in list(self.seen.roots.values()) if len(self.seen.roots) > 1 else ():
            if not root.is_bound and not root.is_part and root.forwards:
                self._look_at_other(root, optimizer)
        if not self._schedule.is_due(self.seen.key_of(optimizer)):
            return
        self.facts.look(*self.kinds)
        for record in records:
            self._search(record)
        held: set[int] = set()
        for one in self.seen.constructed() if len(self.seen.roots) > 1 else ():
            held.update(id(p) for p in parameters_of(one))
        for root in self.seen.roots.values():
            if self._is_unheld(root) and root.parameter_ids().isdisjoint(held):
                self._looks[root.number] = self._looks.get(root.number, 0) + 1
                self._values.setdefault(root.number, root.fingerprint())
                self._trained_with[root.number] = self._told(optimizer)

    def _look_at_other(self, root: RootWatch, optimizer: Any) -> None:
        """Note that a root has gradients that the optimizer that steps does not have."""
        if not self._root_schedule.is_due((self.seen.key_of(optimizer), root.number)):
            return
        if any(p.grad is not None for p in parameters_of(optimizer)):
            return
        if self._is_unheld(root):
            self._starved[root.number] = self._starved.get(root.number, 0) + 1
            holders = (
                one
                for one in self.seen.constructed()
                if not root.parameter_ids().isdisjoint(id(p) for p in parameters_of(one))
            )
            held = {id(p) for p in parameters_of(optimizer)}
            holder = next(holders, None)
            holder_told = None if holder is None else self._told(holder)
            self._starving[root.number] = _Starving(*self._told(optimizer), held, holder_told)

    def _told(self, optimizer: Any) -> tuple[str | None, str]:
        """Return where an optimizer was constructed, and its type."""
        return self._places.get(self.seen.key_of(optimizer)), type(optimizer).__name__

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Forget a root that the script has dropped."""
        for table in (self._looks, self._values, self._trained_with, self._starved):
            table.pop(root.number, None)
        self._starving.pop(root.number, None)

    def _is_unheld(self, root: RootWatch) -> bool:
        """Return whether a root looks as if it were to be trained, by nobody."""
        if root.is_bound or root.is_part or not root.forwards or not root.root.training:
            return False
        own = [p for p in root.root.parameters() if p.requires_grad]
        if not own or len(own) < sum(1 for _ in root.root.parameters()):
            return False
        if any(id(part) in self._loaded for part in root.root.modules()):
            return False
        return bool(float(gradient_norm(own)))

    def _search(self, record: Record) -> None:
        """Add a fact about each attribute that was meant to freeze something."""
        held = {id(p) for p in record.own if p.requires_grad}
        for module, names in module_tree.modules(record.root.root):
            if vars(module).get("requires_grad") is not False:
                continue
            own = [p for p in module.parameters() if id(p) in held]
            if own:
                self._add(record, "module", names[0], "requires_grad", module, len(own))
        for module, names in module_tree.modules(record.root.root):
            for name, parameter in module._parameters.items():
                if parameter is None or id(parameter) not in held:
                    continue
                for attribute, value in vars(parameter).items():
                    if attribute in _MISTYPED and value is False:
                        path = f"{names[0]}.{name}" if names[0] else name
                        self._add(record, "parameter", path, attribute, module, 1)

    def _add(
        self, record: Record, on: str, name: str, attribute: str, module: nn.Module, many: int
    ) -> None:
        self.facts.add(
            "requires_grad_attribute",
            name,
            places.of_class(type(record.root.root)),
            record=record,
            on=on,
            attribute=attribute,
            module=type(module).__name__,
            parameters=many,
        )

    def finish(self) -> None:
        """Add the roots that nothing has changed."""
        held = self.seen.held_ids()
        starved = set(self._find_starved())
        for root in self.seen.roots.values():
            if root.number in starved:
                continue
            if self._looks.get(root.number, 0) < _LEAST or root.is_bound:
                continue
            own = [p for p in root.root.parameters() if p.requires_grad]
            if any(id(p) in held for p in own) or root.fingerprint() != self._values[root.number]:
                continue
            place, kind = self._trained_with[root.number]
            self.facts.add("unheld_root", root.name, place, optimizer=kind, parameters=len(own))

    def _find_starved(self) -> Iterator[int]:
        """Add the optimizers that step in place of that of a root; yield the roots' numbers."""
        for root in self.seen.roots.values():
            if self._starved.get(root.number, 0) < _LEAST or root.is_bound:
                continue
            known = self._starving[root.number]
            holder_place, holder = known.holder or (None, None)
            yield root.number
            self.facts.add(
                "starved_optimizer",
                root.name,
                known.place,
                record=self.record_of(known.parameters),
                optimizer=known.type,
                other=self.name_of_parameters(known.parameters),
                holder=holder,
                holder_place=holder_place,
                parameters=len(root.parameter_ids()),
            )
