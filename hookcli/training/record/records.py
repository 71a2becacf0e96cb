"""A record: one root, one optimizer, and what was seen of their steps."""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import torch

from hookcli.engine.loop.step_gradients import StepGradients
from hookcli.engine.statistics.digest import digest
from hookcli.engine.statistics.statistics import norm_of
from hookcli.models.backend import backend_of
from hookcli.report.distributed import StepDigests
from hookcli.report.recording import ParameterStep
from hookcli.report.report import Report
from hookcli.report.rows.events import number
from hookcli.report.steps import (
    OptimizerInfo,
    ScriptLines,
    StepSettings,
    TrainingInfo,
    UpdateRow,
)
from hookcli.report.values import Number
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import BackwardPass
from hookcli.training.norms import (
    change_norms,
    each_norm,
    gradient_norm,
    gradients_of,
    local,
)
from hookcli.training.parallel.flat_parameters import find_flat_parameters
from hookcli.training.parallel.part_norms import PartNormsKeeper
from hookcli.training.parallel.placed_rows import with_placements
from hookcli.training.parallel.placements import PLAIN, has_parts, is_part, placed
from hookcli.training.parallel.stages import stage_of
from hookcli.training.parallel.step_digests import DigestKeeper
from hookcli.training.record.optimizer_groups import (
    largest_decay,
    largest_rate,
    learning_rate,
    numbers,
    parameters_of,
)
from hookcli.training.root_watch import RootWatch
from hookcli.training.roots import LooseParameters
from hookcli.training.selection.sampling import Sampling
from hookcli.training.steps import Steps, TrainingStep, sum_of

_COPIED = 1 << 28  # bytes of parameters that are copied to measure an update exactly
_DIGESTED = 1 << 24  # elements that are hashed if there are more bytes than that
_SHORT = (torch.bfloat16, torch.float16)
_SAMPLE = 1 << 16  # elements of each parameter that are copied otherwise


@dataclass(slots=True)
class _Copy:
    """The values of a parameter before an update, or evenly spaced ones of them."""

    name: str
    parameter: torch.Tensor  # its values, or this rank's part of them
    whole: torch.Tensor  # the parameter itself, which has the gradient
    before: torch.Tensor
    stride: int
    norm: float | None  # of `before`


class Record:
    """The steps of one optimizer on one root; without an optimizer, its backward passes."""

    def __init__(
        self, root: RootWatch, optimizer: Any | None, sampling: Sampling, *, ranks: bool
    ) -> None:
        self.root = root
        self.sampling = sampling
        self.optimizer_type = None if optimizer is None else type(optimizer).__name__
        self._optimizer_class = type(optimizer)
        # The script may drop it before this record ends.
        self._reference = None if optimizer is None else weakref.ref(optimizer)
        self.merged: set[int] = set()  # ids of optimizers that step inside backward
        self.own: list[torch.Tensor] = []  # its parameters that are the root's
        self.elsewhere = 0
        self._others: list[torch.Tensor] = []  # its parameters that are not the root's
        self._reached: set[int] = set()  # ids of those of them that had a gradient
        self.groups = 0
        self.options: dict[str, Number | bool] = {}
        self._decay: float | None = None  # the largest of all groups
        self.parameters = 0
        self.lines: ScriptLines | None = None  # of the script, when its first step begins
        self.steps = Steps()
        self.model = root.model
        self.name = ""
        self.taken: set[int] = set()  # ids of the backward passes of the last step
        self._ranks = ranks
        self._current: TrainingStep | None = None
        self._unmeasured: TrainingStep | None = None  # its update is made after it has ended
        self._copies: list[_Copy] = []
        self._ratios: dict[str, list[float | None]] = {}
        self._changed: dict[str, bool] = {}
        self._kept: dict[str, float] = {}  # the smallest share of elements that a step kept
        self._first: dict[str, dict[str, Any] | None] = {}
        self._differs: dict[str, bool] = {}  # from its first values, when a sampled step begins
        self.together: dict[int, Record] = {}  # with steps between two steps of this record
        self.shared: list[Record] = []  # of other roots, trained by the same steps
        self.passes = 0  # a number that differs for other backward passes, without an optimizer
        self._left: tuple[list[torch.Tensor], list[float]] | None = None
        self._lefts: set[bool | None] = set()  # what `left_gradients` said
        self._digests: dict[int, str] = {}
        self._step_digests = DigestKeeper() if ranks else None
        self._stage = stage_of(root.root) if ranks else None
        self._parts: PartNormsKeeper | None = None  # if this rank has parts of some parameters
        self._local: dict[str, list[tuple[float | None, float | None]]] = {}  # of those, by name
        self.sampled: list[int] = []
        # Returns what is known of every step, of the parameters that optimizers hold.
        self.settings: Callable[[AbstractSet[int]], StepSettings] | None = None
        self.approximate = False
        self.is_closed = False  # whether the script has dropped the model: nothing of it is kept
        self._last_report: Report | None = None  # then
        if optimizer is not None:
            self._lend(optimizer)
            self.hold(optimizer)
        self.gradients = StepGradients(self.model)

    def _lend(self, optimizer: Any) -> None:
        """Use the parameters that the root only has during its calls, if it trains those."""
        held = {id(p): p for p in parameters_of(optimizer)}
        lent = {name: held[key] for key, name in self.root.names_in_call.items() if key in held}
        if lent and not self.root.parameter_ids() & held.keys():
            self.model = backend_of(LooseParameters(lent))

    def is_like(self, optimizer: Any, held: AbstractSet[int]) -> bool:
        """Return whether its optimizer has the type of another one, and the parameters `held`."""
        known = {id(p) for p in (*self.own, *self._others)}
        return self._optimizer_class is type(optimizer) and known == held

    def go_on_with(self, optimizer: Any) -> Any:
        """Take over another optimizer, whose steps follow; return the one before."""
        before, self._reference = self.optimizer, weakref.ref(optimizer)
        self.hold(optimizer)
        return before

    @property
    def optimizer(self) -> Any | None:
        """The optimizer; None if there is none, or if the script has dropped it."""
        return None if self._reference is None else self._reference()

    @property
    def rate(self) -> float | None:
        """The learning rate now."""
        optimizer = self.optimizer
        return None if optimizer is None else learning_rate(optimizer)

    def is_of_same_steps(self, other: Record) -> bool:
        """Return whether each step of this record is one of another record, of another root."""
        if self is other or self.root is other.root or self.steps.total != other.steps.total:
            return False
        if self._reference is None:
            return other._reference is None and self.passes == other.passes
        return self._reference is other._reference  # all of one object are the same

    @property
    def ended_sampled(self) -> bool:
        """Whether the last step that ended was a sampled one."""
        last = self.steps.last
        return last is not None and last.sampled

    @property
    def is_of_ranks(self) -> bool:
        """Whether it is a record of one rank of several, which are compared in each step."""
        return self._ranks

    @property
    def is_running(self) -> bool:
        """Whether a step has begun and not ended."""
        return self._current is not None

    def hold(self, optimizer: Any) -> None:
        """Take over the parameters and options of an optimizer: it may get more at any time."""
        held = parameters_of(optimizer)
        ids = {id(info.tensor) for info in self.model.parameters()}
        own = [p for p in held if id(p) in ids]
        self._others = [p for p in held if id(p) not in ids]
        decays = [largest_decay(optimizer), self._decay if self.merged else None]
        self._decay = max((one for one in decays if one is not None), default=None)
        if self.merged:
            known = {id(p) for p in self.own}
            self.own += [p for p in own if id(p) not in known]
            self.parameters = max(self.parameters, len(self.own))
        else:
            self.own, self.parameters = own, len(held)
        self.elsewhere = self.parameters - len(self.own)
        if self._parts is None and self._ranks:
            find_flat_parameters(self.own)
            if has_parts(self.own):
                self._parts = PartNormsKeeper()
        self.groups = len(optimizer.param_groups)
        self.options = numbers(optimizer.param_groups[0]) if optimizer.param_groups else {}

    def begin(
        self,
        passes: Sequence[BackwardPass],
        *,
        forwards: int,
        norm: Any,
        lr: float | None,
        sampled: bool,
        partly: bool = False,
        noted: bool = True,
        largest: float | None = None,
    ) -> TrainingStep:
        """Begin a step: the gradients are there, and the parameters are not updated yet.

        With `partly` the gradients come one after another: see `add_part`. If they are not
        `noted`, they are not in `.grad`, and nothing is known of them.
        """
        step = self._current = TrainingStep(
            step=self.steps.total,
            forwards=forwards,
            backwards=len(passes),
            loss=sum_of(passes),
            grad_norm=norm,
            lr=lr,
            largest_lr=largest,
            sampled=sampled,
        )
        for one in passes:
            if one.scale is not None:
                step.scale = one.scale
                break
        if self._step_digests is not None:
            self._step_digests.note(2 * step.step, self.own)
        if self._parts is not None and noted and not partly:
            step.parts = self._parts.gradients(self.own)
        if passes and id(self) in passes[0].left:
            self._lefts.add(passes[0].left[id(self)])
        if sampled:
            self.sampled.append(step.step)
            self._reached.update(id(p) for p in self._others if p.grad is not None)
            if noted and not partly:
                self.gradients.note(step.step)
            notes = self.gradients.latest
            self._copy(notes)
        return step

    def keep_gradient_norms(self) -> None:
        """Keep the norms of the gradients that the last step has left, for `left_gradients`."""
        held = [p for p in self.own if p.grad is not None]
        self._left = held, each_norm(gradients_of(held))

    def forget_gradients(self) -> None:
        """Forget them: some of the next steps are not watched."""
        self._left = None

    def left_gradients(self) -> bool | None:
        """Return whether the gradients that the last step left are there, when backward begins.

        True: each one is, unchanged, so that nothing reset them. False: none is. None: it is not
        known, or some were reset, or they were scaled.
        """
        if self._left is None:
            return None
        held, norms = self._left
        there = [p for p in held if p.grad is not None]
        now = each_norm(gradients_of(there))
        if not any(norms) or not all(map(math.isfinite, norms)):
            return None
        if len(there) == len(held) and now == norms:
            return True
        return None if any(now) else False

    @property
    def is_never_zeroed(self) -> bool:
        """Whether no gradient was reset so far, at the steps that were looked at."""
        return self._lefts == {True}

    def _never_zeroed(self) -> bool | None:
        """Return whether no gradient was reset at any step; None if that is not known."""
        return False if False in self._lefts else self.is_never_zeroed or None

    def add_part(self, parameters: Sequence[torch.Tensor], norm: Any, optimizer: Any) -> None:
        """Add the gradients of an optimizer that steps now, inside of backward."""
        step = self._current
        if step is None:
            return
        rates = [step.lr, step.largest_lr, learning_rate(optimizer), largest_rate(optimizer)]
        if len(self.merged) > 1 or rates[3] is not None:
            step.largest_lr = max((rate for rate in rates if rate is not None), default=None)
        if isinstance(norm, torch.Tensor):
            norm = float(norm)
        step.grad_norm = math.hypot(step.grad_norm, norm)
        if self._parts is not None:
            step.parts = self._parts.added(step.parts, parameters)
        if step.sampled:
            self.gradients.note(step.step, parameters, alone=True)

    def _count(self, step: TrainingStep) -> None:
        """Count the gradients of a sampled step by their status."""
        notes = self.gradients.latest
        own = {id(p) for p in self.own}
        states = [note.status for key, note in notes.items() if key in own]
        step.missing = states.count("none")
        step.zero = states.count("zero")
        step.non_finite = states.count("non_finite")
        weights = [note.weight["norm"] for key, note in notes.items() if key in own and note.weight]
        step.weight_norm = math.hypot(*weights) if weights else None
        if self._parts is not None:
            norms = {key: note.weight["norm"] for key, note in notes.items() if note.weight}
            step.weight_parts = self._parts.combined((p, norms.get(id(p))) for p in self.own)

    def _copy(self, notes: dict[int, ParameterStep]) -> None:
        names = {id(info.tensor): info.name for info in self.model.parameters()}
        self._copies.clear()
        held = [(names[id(p)], local(p.detach()), p) for p in self.own if id(p) in names]
        total = sum(p.numel() * p.element_size() for _, p, _ in held)
        keys = {names[id(p)]: id(p) for p in self.own if id(p) in names}
        with torch.no_grad(), disable_current_modes():
            for name, parameter, whole in held:
                note = notes.get(keys[name])
                weight = None if note is None else note.weight
                if name in self._first:
                    differs = weight != self._first[name]
                    if self._changed.get(name):
                        self._differs[name] = self._differs.get(name, False) or differs
                    self._changed[name] = self._changed.get(name, False) or differs
                else:
                    self._first[name] = weight
                if parameter.layout is not torch.strided:
                    continue
                stride = 1
                if total > _COPIED:
                    stride = max(1, parameter.numel() // _SAMPLE)
                    self.approximate = self.approximate or stride > 1
                before = _every(parameter, stride).clone()
                row = weight if stride == 1 and weight is not None else norm_of(before)
                norm = None if row is None else float(row["norm"])
                self._copies.append(_Copy(name, parameter, whole, before, stride, norm))

    def end(self, inside: Sequence[BackwardPass] = (), *, measured: bool = True) -> TrainingStep:
        """End the step: the parameters are updated; without `measured` they will be later.

        `inside` are the backward passes that the optimizer ran itself, as LBFGS does: the loss is
        that of the first.
        """
        step = self._current
        if step is None:
            raise RuntimeError("no step has begun")
        self._current = None
        if inside:
            step.backwards, step.loss = len(inside), sum_of(inside[:1])
            step.forwards = self.root.forwards
            step.grad_norm = gradient_norm(self.own)
            if self._parts is not None:
                step.parts = self._parts.gradients(self.own)
        if self._step_digests is not None and measured:
            self._step_digests.note(2 * self.steps.total + 1, self.own)
        if step.sampled:
            if inside:
                self.gradients.note(step.step)
            if not self.gradients.empty:
                self._count(step)
            if inside or step.weight_norm is None:  # the notes have the weights after the step
                before = [copy.norm for copy in self._copies if copy.norm is not None]
                step.weight_norm = math.hypot(*before) if before else None
            if measured:
                self._measure(step)
            else:
                self._unmeasured = step
        self.steps.add(step)
        return step

    def measure_late(self, *, only_if_changed: bool = False) -> None:
        """Measure the update of the last step, which the script made after the step had ended."""
        step = self._unmeasured
        if step is None:
            return
        with torch.no_grad(), disable_current_modes():
            if only_if_changed and all(
                torch.equal(copy.before, _every(copy.parameter, copy.stride))
                for copy in self._copies
            ):
                return
        self._unmeasured = None
        self._measure(step)

    def _measure(self, step: TrainingStep) -> None:
        updates: list[float] = []
        with torch.no_grad(), disable_current_modes():
            copies = self._copies
            after = [_every(copy.parameter, copy.stride) for copy in copies]
            changes = change_norms([copy.before for copy in copies], after)
            for copy, now, change in zip(copies, after, changes, strict=True):
                weight = copy.norm
                ratios = self._ratios.setdefault(copy.name, [])
                ratios += [None] * (len(self.sampled) - 1 - len(ratios))
                ratios.append(change / weight if change is not None and weight else None)
                if self._parts is not None and placed(copy.whole) is not PLAIN:
                    norms = self._local.setdefault(copy.name, [])
                    norms += [(None, None)] * (len(self.sampled) - 1 - len(norms))
                    norms.append((change, weight))
                self._note_kept(copy, now)
                if change is not None:
                    updates.append(change * math.sqrt(copy.stride))
                    self._changed[copy.name] = self._changed.get(copy.name, False) or change != 0
            if self._ranks:
                whole = digest_of(self.own)
                if whole is not None:
                    self._digests[step.step] = whole
            if self._parts is not None:
                step.update_parts = self._parts.combined(
                    (copy.whole, None if change is None else change * math.sqrt(copy.stride))
                    for copy, change in zip(copies, changes, strict=True)
                )
        self._copies.clear()
        step.update_norm = math.hypot(*updates) if updates else None

    def _note_kept(self, copy: _Copy, now: torch.Tensor) -> None:
        """Note the share of elements with a gradient that an update has left as they were.

        Only of optimizers of PyTorch: others may add up what rounding loses.
        """
        if now.dtype not in _SHORT or not self._optimizer_class.__module__.startswith("torch.opt"):
            return
        grad = copy.whole.grad
        grad = None if grad is None else local(grad)
        if grad is None or grad.shape != copy.parameter.shape or grad.layout is not torch.strided:
            return
        live = _every(grad, copy.stride).reshape(now.shape) != 0
        many = int(live.sum())
        if many:
            share = float(((copy.before == now) & live).sum()) / many
            self._kept[copy.name] = min(share, self._kept.get(copy.name, 1.0))

    def _count_idle(self) -> int:
        """Count the parameters of no root of these steps that got no gradient in any of them."""
        known = self._reached.union(*(other.root.parameter_ids() for other in self.shared))
        return sum(id(p) not in known for p in self._others)

    def info(self, unheld: tuple[str, ...], held: AbstractSet[int]) -> TrainingInfo:
        """Return the record as plain data; `held` are the parameters of all optimizers."""
        root = self.root
        optimizer = None
        if self.optimizer_type is not None:
            optimizer = OptimizerInfo(
                type=self.optimizer_type,
                parameters=self.parameters,
                elsewhere=self.elsewhere,
                groups=self.groups,
                options=self.options,
                merged=max(1, len(self.merged)),
                largest_weight_decay=None
                if self._decay is None or max(self.groups, len(self.merged)) < 2
                else number(self._decay),
                elsewhere_idle=self._count_idle() if self.sampled and not self.merged else None,
            )
        count = len(self.sampled)
        return TrainingInfo(
            record=self.name,
            root=root.name,
            root_type=type(root.root).__name__,
            wrappers=root.wrappers,
            optimizer=optimizer,
            unit="backward" if optimizer is None else "optimizer",
            total=self.steps.total,
            skipped=self.steps.skipped,
            every=self.steps.every,
            sampled=tuple(self.sampled),
            steps=self.steps.rows(),
            updates=tuple(
                UpdateRow(
                    name,
                    tuple(None if r is None else number(r) for r in _padded(ratios, count)),
                    self._changed.get(name) if count else None,
                    kept=number(self._kept[name]) if name in self._kept else None,
                    local=self._local_norms(name, count),
                    restored=not self._differs[name]
                    if name in self._differs and _is_finite(self._first.get(name))
                    else None,
                )
                for name, ratios in self._ratios.items()
            ),
            calls=root.known_calls,
            evaluations=root.ungraded.in_eval,
            graphless=root.ungraded.in_train,
            samples=root.ungraded.samples or None,
            never_zeroed=self._never_zeroed(),
            unheld=unheld,
            compiled=root.compiled,
            eval_modules=tuple(sorted(root.modes.eval_modules)),
            train_modules=tuple(sorted(root.modes.train_modules)),
            eval_steps=tuple(sorted(root.modes.eval_steps)),
            together=tuple(other.name for other in self.together.values()),
            digests=self._digests or None,
            partly=root.partly_seen() or None,
            omitted=self.sampling.omitted or None,
            shared=tuple(other.name for other in self.shared) or None,
            modes=root.modes.counts.info(),
            losses=root.losses or None,
            groups=None if self._parts is None else self._parts.rows(self.own),
            step_digests=self._digests_of_steps(),
            stage=self._stage,
            unwatched=self.steps.unwatched or None,
            settings=None if self.settings is None else self.settings(held),
            lines=self.lines,
        )

    def _digests_of_steps(self) -> StepDigests | None:
        keeper = self._step_digests
        if keeper is None:
            return None
        keeper.note(2 * self.steps.total, self.own)  # the script may have changed them at its end
        names = {id(info.tensor): info.name for info in self.model.parameters()}
        return keeper.rows(names, self.root.forwards)

    def _local_norms(
        self, name: str, count: int
    ) -> tuple[tuple[Number | None, Number | None], ...] | None:
        """Return the norms of the updates of a DTensor's part, and of its values before them."""
        pairs = self._local.get(name)
        if pairs is None:
            return None
        pairs = [*pairs, *[(None, None)] * (count - len(pairs))]
        return tuple(
            (None if change is None else number(change), None if weight is None else number(weight))
            for change, weight in pairs
        )

    def report(
        self,
        unheld: tuple[str, ...],
        held: AbstractSet[int],
        *,
        final: bool = True,
        asked: str | None = None,
    ) -> Report:
        """Return the record as a report; while the script runs, it is not `final`.

        `unheld` are its parameters that no optimizer has, `held` the identities of those that one
        has. With `asked`, it has what the hooks of a question recorded.
        """
        if self._last_report is not None:
            return self._named_again(self._last_report)
        info = self.info(unheld, held)
        report = self.root.report(self.model, self.gradients, info, final=final, asked=asked)
        return report if self._parts is None else with_placements(report, self.model, self._parts)

    def close(self, report: Report | None) -> None:
        """Keep the last report, and nothing of a model that the script has dropped.

        The root has let go of the model before. There is no report of a record without steps.
        """
        self.is_closed, self._last_report = True, report
        self.own, self._others = [], []
        self._copies.clear()
        self.settings = self._left = self._unmeasured = None
        self._step_digests = self._parts = None
        self.model = self.root.model
        self.gradients = StepGradients(self.model)

    def _named_again(self, report: Report) -> Report:
        """Return the last report with the names that records have now."""
        if report.training is None:
            return report
        info = replace(
            report.training,
            record=self.name,
            together=tuple(other.name for other in self.together.values()),
            shared=tuple(other.name for other in self.shared) or None,
        )
        return replace(report, training=info)


def _is_finite(weight: dict[str, Any] | None) -> bool:
    """Return whether statistics tell values apart: those of NaN are always the same."""
    return weight is not None and not weight.get("nans") and not weight.get("infs")


def _padded(ratios: list[float | None], count: int) -> list[float | None]:
    return [*ratios, *[None] * (count - len(ratios))]


def _every(parameter: torch.Tensor, stride: int) -> torch.Tensor:
    return parameter if stride == 1 else parameter.reshape(-1)[::stride]


def digest_of(parameters: list[torch.Tensor]) -> str | None:
    """Return a digest of values, or of evenly spaced ones of many; None if ranks have parts."""
    whole = hashlib.sha256()
    stride = 1
    if sum(p.numel() * p.element_size() for p in parameters) > _COPIED:
        stride = max(1, sum(p.numel() for p in parameters) // _DIGESTED)
    for parameter in parameters:
        if is_part(parameter):
            return None
        value = local(parameter.detach())
        value = _every(value, stride).clone() if value.layout is torch.strided else value
        whole.update(digest(value).encode())
    return whole.hexdigest()[:32]
