"""The roots that an optimizer trains, and the records of both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from hookcli.training.observed_script import ObservedScript, name_records, rank_and_world
from hookcli.training.record.optimizer_groups import parameters_of
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import LooseParameters, name_of, owner_of, parameter_ids
from hookcli.training.selection.sampling import Sampling
from hookcli.training.steps import TrainingStep

_MOST_OF_A_KIND = 8  # records of a root, of optimizers of one type that hold the same parameters


class TrainedRoots:
    """The records of each optimizer, `of` its id, and the last one of each root, in `last_of`.

    `early` has the steps that a GradScaler skipped before the first step, by the number of the
    root. `add_root` makes a module a root. `joined` is told that a root became a part of another.
    """

    def __init__(
        self,
        seen: ObservedScript,
        *,
        add_root: Callable[[nn.Module], RootWatch],
        joined: Callable[[RootWatch, RootWatch], None],
    ) -> None:
        self._seen, self._add_root, self._joined = seen, add_root, joined
        self.of: dict[int, list[Record]] = {}
        self.last_of: dict[int, Record] = {}  # the record of a root that stepped last
        self.early: dict[int, list[TrainingStep]] = {}
        self._merged: dict[int, Record] = {}  # of optimizers that step inside backward, by root

    def bind(self, optimizer: Any, *, inside: bool) -> list[Record]:
        """Return a new record for each root that this optimizer trains.

        It steps `inside` a backward pass if that is so, with others that are counted as one.
        """
        self._seen.optimizers[id(optimizer)] = optimizer
        parameters = parameters_of(optimizer)
        records = []
        roots = self._roots_of(parameters)
        for root in roots:
            by_hand = self._seen.by_hand.pop(root.number, None)
            if by_hand is not None:  # its backward passes were micro-steps
                root.forwards += by_hand.forwards
            self._forget_parts(root)
            self._join_parts(root, roots)
            merged = self._merged.get(root.number) if inside else None
            if merged is not None:
                merged.merged.add(id(optimizer))
                merged.hold(optimizer)
                records.append(merged)
                continue
            again = None if inside else self._made_again(root, optimizer, parameters)
            if again is not None:
                records.append(again)
                continue
            record = self.record(root, optimizer)
            if inside:
                record.merged.add(id(optimizer))
                self._merged[root.number] = record
            for step in self.early.pop(root.number, []):
                record.steps.add(step)
            root.is_bound = True
            if not root.calls or self._seen.compiles:
                root.watch_parameters()
            self._seen.records.append(record)
            name_records(self._seen.records)
            self.last_of[root.number] = record
            records.append(record)
        self.of[id(optimizer)] = records
        return records

    def _made_again(self, root: RootWatch, optimizer: Any, parameters: list[Any]) -> Record | None:
        """Return the record that goes on with this optimizer, if a script makes many of a kind.

        One that is made anew for each batch would otherwise have a record for each of its steps.
        """
        held = {id(p) for p in parameters}
        same = [
            record
            for record in self._seen.records
            if record.root is root and record.is_like(optimizer, held)
        ]
        if len(same) < _MOST_OF_A_KIND:
            return None
        before = same[-1].go_on_with(optimizer)
        self._seen.optimizers.pop(id(before), None)
        self.of.pop(id(before), None)
        return same[-1]

    def forget(self, root: RootWatch) -> None:
        """Forget a root that the script has dropped."""
        for table in (self.last_of, self.early, self._merged):
            table.pop(root.number, None)

    def record(self, root: RootWatch, optimizer: Any) -> Record:
        """Return a new record of a root and an optimizer, or None."""
        sampling = Sampling(self._seen.job.training)
        return Record(root, optimizer, sampling, ranks=rank_and_world()["world_size"] > 1)

    def _forget_parts(self, root: RootWatch) -> None:
        """Forget the backward passes of compiled parts of a root that an optimizer trains."""
        for key, part in list(self._seen.by_hand.items()):
            inside = part.record.root
            if inside.compiled and not inside.calls:
                ids = inside.parameter_ids()
                if ids <= root.parameter_ids():
                    del self._seen.by_hand[key]

    def _join_parts(self, root: RootWatch, chosen: Sequence[RootWatch]) -> None:
        """Make the roots inside a root that an optimizer trains its parts, with what they saw."""
        for part in list(self._seen.roots.values()):
            if part.is_bound or part in chosen or root in part.wholes or not part.is_inside(root):
                continue
            self._joined(part, root)
            by_hand = self._seen.by_hand.get(part.number)
            if by_hand is not None and not by_hand.changes():  # its passes were micro-steps
                del self._seen.by_hand[part.number]
            part.join(root)

    def _roots_of(self, parameters: list[Any]) -> list[RootWatch]:
        """Return the roots that have these parameters: those that are called, if there are any.

        If no root has all of them, it may be that only its parts have been called so far, or that
        they are called alone: then it is the module that owns them.
        """
        wanted = {id(p) for p in parameters}
        trainable = {id(p) for p in parameters if p.requires_grad}
        covered = [
            (ids, root)
            for root in self._seen.roots.values()
            if (ids := {*root.parameter_ids(), *root.names_in_call} & wanted)
        ]
        found = [
            root
            for ids, root in covered
            if not any(_replaces(other, others, root, ids) for others, other in covered)
            # What two roots share is trained by the one that has more, if it is frozen.
            and (ids & trainable or not any(ids < others for others, _ in covered))
        ]
        seen = {key for ids, root in covered if root in found for key in ids}
        if not parameters or (len(found) == 1 and seen == wanted):
            return found
        owner = owner_of(parameters)
        if found and (owner is None or not _owns(owner, found, seen, parameters)):
            return found
        if owner is not None and id(owner) in self._seen.roots:
            return [self._seen.roots[id(owner)]]
        return [self._add_root(_loose(parameters) if owner is None else owner)]

    def with_same_optimizer(self, record: Record) -> list[Record]:
        """Return the records that the optimizer of a record trains: of several roots."""
        return next((group for group in self.of.values() if record in group), [record])


def _replaces(other: RootWatch, others: set[int], root: RootWatch, ids: set[int]) -> bool:
    """Return whether another root is trained, instead of one that has the parameters `ids` of it.

    Of a module and a part of it, it is the module if that has more of the parameters, or if it is
    called itself. Of modules that share their parameters it is the smaller one.
    """
    if other is root:
        return False
    if root.is_inside(other):
        return ids < others or (ids == others and other.own_forwards > 0)
    if other.is_inside(root):
        return ids == others and not root.own_forwards
    return ids == others and len(other.parameter_ids()) < len(root.parameter_ids())


def _owns(
    owner: nn.Module, roots: Sequence[RootWatch], seen: set[int], parameters: Sequence[Any]
) -> bool:
    """Return whether a module is the whole of these roots, which have the parameters `seen`.

    Either it has more of the parameters of the optimizer, or no other ones that are trainable.
    """
    inside = set(map(id, owner.modules()))
    if any(root.root is owner or id(root.root) not in inside for root in roots):
        return False
    wanted = {id(p) for p in parameters}
    held = parameter_ids(owner) & wanted
    trainable = {id(p) for p in owner.parameters() if p.requires_grad}
    return held > seen or (held == seen and trainable <= wanted)


def _loose(parameters: list[Any]) -> LooseParameters:
    """Return parameters of no module under the names of their variables, else their numbers."""
    names = [name_of(p, sys._getframe(1)) or f"[{i}]" for i, p in enumerate(parameters)]
    if len(set(names)) < len(names):
        names = [f"[{i}]" for i in range(len(names))]
    return LooseParameters(dict(zip(names, parameters, strict=True)))
