"""Lets go of the models and optimizers that a script has dropped, so that their memory is freed.

hookcli refers to them until then, as the report has to describe them at the end. A script that
trains many models in a row would otherwise need the memory of all of them.

A model is dropped if hookcli's own references to it are the only ones. It is looked at when another
one is called or trained first, so that the last model of a script always stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from hookcli.models import module_tree, places
from hookcli.report.report import Report
from hookcli.report.training import OtherModule
from hookcli.system.references import count_references
from hookcli.training.observed_script import ObservedScript
from hookcli.training.observers.catalogue import Observers
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.trained_roots import TrainedRoots


class DroppedModels:
    """Finds what the script has dropped, and lets go of it.

    `ended` is told of the records that get their last report.
    """

    def __init__(
        self,
        seen: ObservedScript,
        trained: TrainedRoots,
        observers: Observers,
        ended: Callable[[Collection[Record]], None],
    ) -> None:
        self._seen, self._trained, self._observers = seen, trained, observers
        self._ended = ended

    def _may_look(self) -> bool:
        """Return whether models can be let go of.

        The events of a stream are those of all models, and compiled code may refer to any of them.
        """
        return self._seen.job.spec.stream is None and not self._seen.compiles

    def before_root(self) -> None:
        """Let go of the dropped models that nobody has trained, as another one is called."""
        if not self._may_look():
            return
        for root in self._seen.roots.values():
            is_free = not root.is_bound and root.number not in self._seen.by_hand
            if is_free and not root.wholes and not root.running and _is_dropped(root):
                self._note_other(root)
                self._forget([root], [])

    def before_optimizer(self) -> None:
        """Let go of the dropped models and optimizers, as another optimizer steps first."""
        if not self._may_look():
            return
        keys = [key for key in self._seen.optimizers if self._is_dropped(key)]
        if not keys:
            return
        ended = {id(record) for key in keys for record in self._trained.of.get(key, ())}
        roots = [
            root
            for root in self._seen.roots.values()
            if root.is_bound and not root.wholes and not root.running and root.is_dropped()
            if all(one.optimizer is None or id(one) in ended for one in self._of(root))
        ]
        for key in keys:
            self._observers.let_go_of(self._seen.optimizers[key])
        self._forget(roots, [record for root in roots for record in self._of(root)])
        for key in keys:
            self._forget_optimizer(key)

    def _of(self, root: RootWatch) -> list[Record]:
        """Return the records of a root."""
        return [record for record in self._seen.records if record.root is root]

    def _is_dropped(self, key: int) -> bool:
        """Return whether only hookcli refers to an optimizer."""
        optimizers = self._seen.optimizers
        own = 1 + self._observers.references(optimizers[key])
        return count_references([optimizers[key]]) <= own

    def _forget_optimizer(self, key: int) -> None:
        optimizer = self._seen.optimizers.pop(key)
        records = self._trained.of.pop(key, [])
        if not all(record.is_closed for record in records):  # its model goes on
            self._seen.held_before |= {id(p) for p in parameters_of(optimizer)}

    def _forget(self, roots: Sequence[RootWatch], records: Sequence[Record]) -> None:
        """Let go of roots and their parts; `records` are theirs, and get their last reports."""
        if not roots:
            return
        reports = self._last_reports(records) if records else {}
        parts = [
            part
            for part in self._seen.roots.values()
            if part.wholes and all(whole in roots for whole in part.wholes)
        ]
        for root in (*roots, *parts):
            self._seen.held_before -= root.parameter_ids()
            self._observers.forget(root, [one for one in records if one.root is root])
            self._seen.roots.pop(id(root.root), None)
            self._trained.forget(root)
            root.let_go()
        for record in records:
            record.close(reports.get(id(record)))

    def _last_reports(self, records: Sequence[Record]) -> dict[int, Report]:
        """Return the reports of these records by their ids, without those that have no steps."""
        self._ended(records)
        told = [  # in the order in which they are reported
            record
            for record in self._seen.records
            if record in records and record.steps and self._seen.is_wanted(record.root)
        ]
        reports = self._seen.record_reports(only=records)
        return {id(record): report for record, report in zip(told, reports, strict=True)}

    def _note_other(self, root: RootWatch) -> None:
        """Keep the row of a root that was called only."""
        kind = type(root.root)
        count = sum(p.tensor.numel() for p in root.model.parameters())
        row = OtherModule(root.name, kind.__name__, 0, count, places.of_class(kind))
        before, now = self._seen.dropped.get(row, 0), root.known_calls
        self._seen.dropped[row] = None if before is None or now is None else before + now


def _is_dropped(root: RootWatch) -> bool:
    """Return whether nothing refers to a root, or to its parameters outside of it."""
    if not root.is_dropped():
        return False
    inside = Counter(
        id(parameter)
        for module, _ in module_tree.modules(root.root)
        for parameter in module._parameters.values()
    )
    return all(
        table[name] is None or count_references([table[name]]) <= inside[id(table[name])]
        for table in (module._parameters for module, _ in module_tree.modules(root.root))
        for name in table
    )
