"""What the watch has seen of a script so far, and the report that it becomes."""

from __future__ import annotations

import itertools
import os
import sys
import time
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from hookcli.engine.assemble import environment
from hookcli.hooks.traced.rows import count_means
from hookcli.models import places
from hookcli.report.ranks.left_report import left_report
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import (
    TRAINING_SCHEMA,
    FirstNonFinite,
    OtherModule,
    ScriptInfo,
    Tracking,
    TrainingReport,
)
from hookcli.spec.training import RunJob
from hookcli.text import counted
from hookcli.training.bad_step import first_in_rows
from hookcli.training.parallel.other_ranks import OtherRanks
from hookcli.training.parallel.placements import flat_part, is_part
from hookcli.training.record.by_hand import ByHand
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import LooseParameters, UnmatchedHooks
from hookcli.training.selection.sampling import MOST_CALLS, MOST_SECONDS

# Scripts and modules that start others in processes of their own.
_LAUNCHERS = {
    "torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate",
    "accelerate.commands.launch", "deepspeed",
}  # fmt: skip


Seen = TypeVar("Seen")


class SeenById(dict[int, Seen]):
    """Objects by their ids. Other threads may add some while the values are gone through."""

    def values(self) -> tuple[Seen, ...]:  # type: ignore[override]  # copied in one call of C
        """Return the objects that are there now."""
        return tuple(super().values())


@dataclass(slots=True)
class ObservedScript:
    """The roots, the optimizers and the records of a script, and notes about them.

    `roots` are by the id of a module, `by_hand` by the number of a root, `optimizers` by their own
    ids. `dropped` has the roots that nobody trained and the script has dropped, each kind once.
    `held_before` are the ids of parameters that an optimizer had which the script has dropped.
    `by_hand` has roots that no optimizer has trained so far. `detached` is the reason why the
    observation ended early. `passes` counts the backward passes through roots, by whether they add
    to `.grad`. `compiles` tells whether the script uses torch.compile, and `has_children` whether
    it started processes that are observed.
    """

    job: RunJob
    started: float = field(default_factory=time.perf_counter)
    since: float = field(default_factory=time.time)
    roots: SeenById[RootWatch] = field(default_factory=SeenById)
    records: list[Record] = field(default_factory=list)
    by_hand: SeenById[ByHand] = field(default_factory=SeenById)
    optimizers: SeenById[Any] = field(default_factory=SeenById)
    held_before: set[int] = field(default_factory=set)
    dropped: dict[OtherModule, int | None] = field(default_factory=dict)
    ranks: OtherRanks | None = None
    first_bad: FirstNonFinite | None = None
    unmatched: UnmatchedHooks = field(default_factory=UnmatchedHooks)
    notes: list[str] = field(default_factory=list)
    detached: str | None = None
    passes: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    compiles: bool = False
    has_children: bool = False
    _keys: dict[int, tuple[weakref.ref[Any], int]] = field(default_factory=dict)  # by id
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def key_of(self, optimizer: Any) -> int:
        """Return a number of an optimizer, which no other one gets, also once it is gone."""
        known = self._keys.get(id(optimizer))
        if known is None or known[0]() is not optimizer:  # one that is gone had this id
            known = self._keys[id(optimizer)] = weakref.ref(optimizer), next(self._numbers)
        return known[1]

    def constructed(self) -> list[Any]:
        """Return the optimizers that the script has constructed and not dropped."""
        known = [reference() for reference, _ in list(self._keys.values())]
        return [optimizer for optimizer in known if optimizer is not None]

    def is_wanted(self, root: RootWatch) -> bool:
        """Return whether --root selects a root."""
        globs = self.job.training.roots
        kind = type(root.root).__name__
        return not globs or any(
            fnmatchcase(root.name, glob) or fnmatchcase(kind, glob) for glob in globs
        )

    def report(self, records: tuple[Report, ...], script: ScriptInfo) -> TrainingReport:
        """Return the report with these records."""
        job = self.job
        return TrainingReport(
            schema=TRAINING_SCHEMA,
            status="complete" if script.status == 0 and self.detached is None else "partial",
            environment=environment(self.started, self._python_source()),
            script=script,
            tracking=Tracking(
                preset=job.spec.command,
                steps=job.training.steps.text,
                max_steps=job.training.max_steps,
                stop_on=job.training.stop_on,
                eager=job.training.eager,
                compiled=job.training.compiled,
                **rank_and_world(),
                detached=self.detached,
                job=self._start_of_all(),
                started=None if self._start_of_all() is None else int(self.since),
            ),
            records=records,
            others=tuple(self._others()),
            first_non_finite=self.first_bad or first_in_rows(records),
            warnings=tuple(self._warnings(records)),
        )

    def _start_of_all(self) -> str | None:
        """Return what all ranks have in common; None if there is one rank."""
        if self.job.child_of is not None:
            return self.job.child_of
        return None if self.ranks is None else self.ranks.job

    def _python_source(self) -> str:
        python = self.job.spec.run.python
        return "own" if python is None else python.source

    def exchange(self, report: TrainingReport, *, wait: bool) -> list[str]:
        """Return the reports of the other ranks of this machine; those leave theirs for rank 0."""
        ranks = self.ranks
        if ranks is None or not report.records:
            return []
        if ranks.rank:
            ranks.leave(left_report(report))
            return []
        return ranks.collect(wait=wait)

    def record_reports(
        self,
        *,
        final: bool = True,
        asked: str | None = None,
        only: Collection[Record] | None = None,
    ) -> tuple[Report, ...]:
        """Return the reports of all records, or `only` of these.

        With `asked`, they are those of the hooks of a question.
        """
        records = [*self.records, *(b.record for b in self.by_hand.values())]
        records = [record for record in records if record.steps and self.is_wanted(record.root)]
        if asked is not None:
            records = [record for record in records if record.root.has_asked(asked)]
        for record in records:
            if not record.is_closed:
                record.root.name_again()
        name_records(records)
        chosen = records if only is None else [record for record in records if record in only]
        for record in chosen:
            if record.is_closed:
                continue
            record.shared = [other for other in records if record.is_of_same_steps(other)]
        held = self.held_ids()
        reports = []
        for record in chosen:
            unheld = tuple(
                info.name
                for info in record.model.parameters()
                if info.tensor.requires_grad and id(info.tensor) not in held
            )
            # Those of no module were all in the optimizer, which may have others by now.
            if record.optimizer_type is None or isinstance(record.root.root, LooseParameters):
                unheld = ()
            report = record.report(unheld, held, final=final, asked=asked)
            if self.job.timed:
                times = record.steps.times(self.started)
                report = replace(report, timings={"unit": "us", "steps": times})
            reports.append(report)
        return tuple(reports)

    def held_ids(self) -> set[int]:
        """Return the identities of the parameters of all optimizers, as far as these exist."""
        return self.held_before.union(
            id(p)
            for optimizer in self.optimizers.values()
            for group in optimizer.param_groups
            for p in group["params"]
        )

    def _warnings(self, records: Sequence[Report]) -> list[str]:
        notes = [*self.notes, *self.unmatched.warnings()]
        for report in records:
            info = report.training
            if info is None:
                continue
            if info.unit == "backward":
                notes.append(
                    f"{info.record}: no optimizer steps, so that each backward pass is a step"
                )
            if info.every > 1:
                notes.append(f"{info.record}: one step in {info.every} is kept, and the last one")
            notes += _limits(info)
            if info.compiled or (self.compiles and self.job.training.compiled):
                notes.append(f"{info.record}: {self._of_compiled(report)}")
        notes += [
            f"{record.name}: parameters are sharded: norms are those of this rank's part"
            for record in self.records
            if any(is_part(parameter) for parameter in record.own)
        ]
        notes += [
            f"{record.name}: parameters are those that FSDP has flattened; pass "
            "`use_orig_params=True` to it to see each one"
            for record in self.records
            if any((part := flat_part(parameter)) and part.names for parameter in record.own)
        ]
        outside = any(r.training and not r.training.compiled for r in records)
        if self.compiles and outside and self.job.training.compiled is None:
            notes.append(
                "layers are not seen from the first torch.compile on; pass `--compiled layers` or "
                "`--eager` to see them"
            )
        if any(record.approximate for record in self.records):
            notes.append("update norms of large parameters are estimated from a sample")
        if not records and self.detached is None:
            notes.append(self._no_step())
        return notes

    def _of_compiled(self, report: Report) -> str:
        """Return what is seen inside of compiled code."""
        mode = self.job.training.compiled
        if mode == "eager-samples":
            return "the steps in detail ran without the compiler (--compiled eager-samples)"
        if mode is None:
            return (
                "compiled: layers are not seen, only gradients of parameters; pass "
                "`--compiled layers` for norms of layers, or `--eager` for all hooks"
            )
        layers = len({layer.name for layer in report.layers})
        if not layers:
            return "compiled code wrote no figures of layers: no hooks could be set before it ran"
        what = "norms" if mode == "layers" else "statistics"
        told = f"compiled code wrote the {what} of {counted(layers, 'layer')}"
        means = count_means(report.layers)
        if means:
            told += f", {means:,} of them means over several calls of the same code"
        return f"{told}; hooks are not called there"

    def _no_step(self) -> str:
        """Return a note that nothing was trained, as far as it was seen."""
        seen = "no training step was seen: no optimizer stepped and "
        if self.passes[True]:
            many = counted(self.passes[True], "backward pass", "backward passes")
            return f"{seen}{many} gave no parameter of a module a gradient"
        if self.passes[False]:
            many = counted(self.passes[False], "time")
            return f"{seen}no gradient was added to .grad; torch.autograd.grad ran {many}"
        if self.job.script.name.rpartition(os.sep)[2] in _LAUNCHERS:
            return (
                "no training step was seen in this process: start hookcli in those that it starts, "
                "with `-m hookcli run` in front of the script"
            )
        if self.has_children:
            return (
                f"{seen}no backward ran in this process; those that it started made no step, or a "
                "signal ended them"
            )
        return (
            f"{seen}no backward ran through a module in this process; of those that it starts, "
            "only processes of multiprocessing are observed"
        )

    def _others(self) -> list[OtherModule]:
        trained = {record.root.number for record in self.records}
        trained |= {b.record.root.number for b in self.by_hand.values()}
        parts = {  # a part of a trained root may be called alone, such as a decoder
            id(part)
            for root in self.roots.values()
            if root.number in trained
            for part in root.root.modules()
        }
        rows = []
        names = Counter(record.root.name for record in self.records)
        dropped = dict(self.dropped)
        for root in self.roots.values():
            if id(root.root) not in parts and not isinstance(root.root, LooseParameters):
                count = sum(p.tensor.numel() for p in root.model.parameters())
                place = places.of_class(type(root.root))
                calls = root.known_calls
                kind = type(root.root).__name__
                earlier = dropped.pop(OtherModule(root.name, kind, 0, count, place), 0)
                calls = None if calls is None or earlier is None else calls + earlier
                names[root.name] += 1
                many = names[root.name]  # a function has one name for all of its arguments
                name = root.name if many == 1 else f"{root.name} #{many}"
                rows.append(OtherModule(name, kind, calls, count, place))
        return rows + [replace(row, calls=calls) for row, calls in dropped.items()]


def _limits(info: TrainingInfo) -> list[str]:
    """Return notes about what was not observed in detail, to save time."""
    notes = []
    if info.partly:
        step, seen = next(iter(info.partly.items()))
        steps = counted(len(info.partly), "step")
        whole = f" ({counted(seen, 'whole forward')})" if seen else ""
        notes.append(
            f"{info.record}: {steps} observed in part, such as step {step:,}{whole}: at most "
            f"{MOST_CALLS:,} calls, or {MOST_SECONDS:g} s and half of its time; pass `--steps all`"
        )
    if info.omitted:
        notes.append(
            f"{info.record}: {counted(info.omitted, 'selected step')} not observed in detail, to "
            "save time; pass `--steps all` to observe them"
        )
    if info.unwatched:
        notes.append(
            f"{info.record}: {info.unwatched:,} of {counted(info.total, 'small step')} not "
            "watched, to save time; pass `--steps all` to watch them"
        )
    return notes


_known = {"rank": 0, "world_size": 1}  # of the process group that the script made


def rank_and_world() -> dict[str, int]:
    """Return the rank and the number of ranks: as torchrun sets them, or of the process group."""
    try:
        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError:
        rank, world = 0, 1
    if world > 1:
        return {"rank": rank, "world_size": world}
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        _known.update(rank=distributed.get_rank(), world_size=distributed.get_world_size())
    return dict(_known)


def name_records(records: Sequence[Record]) -> None:
    """Give each record a name of its own: its root's, with the optimizer if that is needed."""
    roots = Counter(record.root.name for record in records)
    used: Counter[str] = Counter()
    for record in records:
        name = record.root.name
        if roots[name] > 1 and record.optimizer_type is not None:
            name = f"{name} ({record.optimizer_type})"
        used[name] += 1
        record.name = name if used[name] == 1 else f"{name} #{used[name]}"
