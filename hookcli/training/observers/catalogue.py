"""The observers of each training. A new one is a row of `OBSERVERS`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hookcli.refusals import is_short_of, raise_if_external
from hookcli.report.measured.compiler import CompilerAccount
from hookcli.report.training import TrainingState
from hookcli.text import join_names
from hookcli.training.observed_script import ObservedScript
from hookcli.training.observers.adversary import Adversary
from hookcli.training.observers.batch_contents import BatchContents
from hookcli.training.observers.batches import Batches
from hookcli.training.observers.clipping import Clipping
from hookcli.training.observers.compiler import Compiler
from hookcli.training.observers.constant_terms import ConstantTerms
from hookcli.training.observers.constructions import Constructions
from hookcli.training.observers.first_sizes import FirstSizes
from hookcli.training.observers.frozen_parts import FrozenParts
from hookcli.training.observers.gradient_use import GradientUse
from hookcli.training.observers.kept_graphs import KeptGraphs
from hookcli.training.observers.label_classes import LabelClasses
from hookcli.training.observers.label_relation import LabelRelation
from hookcli.training.observers.label_shift import LabelShift
from hookcli.training.observers.learning_trial import LearningTrial
from hookcli.training.observers.loaded_weights import LoadedWeights
from hookcli.training.observers.loss_call_look import LossCallLook
from hookcli.training.observers.loss_look import LossLook
from hookcli.training.observers.loss_sign import LossSign
from hookcli.training.observers.loss_sizes import LossSizes
from hookcli.training.observers.masked_gradients import MaskedGradients
from hookcli.training.observers.model_code import ModelCode
from hookcli.training.observers.model_copies import ModelCopies
from hookcli.training.observers.model_look import ModelLook
from hookcli.training.observers.observer import FactCounts, Observer, methods, overrides
from hookcli.training.observers.scaled_clipping import ScaledClipping
from hookcli.training.observers.schedules import Schedules
from hookcli.training.observers.script_lines import LinesOfRecords
from hookcli.training.observers.script_source import ScriptSource
from hookcli.training.observers.seeds import Seeds
from hookcli.training.observers.single_predictions import SinglePredictions
from hookcli.training.observers.splits import Splits
from hookcli.training.observers.step_order import StepOrder
from hookcli.training.observers.step_settings import EachStep
from hookcli.training.observers.trained_parts import TrainedParts
from hookcli.training.observers.training_states import TrainingStates
from hookcli.training.record.records import Record
from hookcli.training.root_watch import RootWatch
from hookcli.training.steps import Clipped

_METHODS = ("constructed", "forward", "before_step", "references", "let_go_of", "forget", "finish")

OBSERVERS: tuple[type[Observer], ...] = (
    Adversary,
    BatchContents,
    Batches,
    Clipping,
    Compiler,
    ConstantTerms,
    Constructions,
    EachStep,
    FirstSizes,
    FrozenParts,
    GradientUse,
    KeptGraphs,
    LabelShift,
    LabelClasses,
    SinglePredictions,
    LabelRelation,
    LearningTrial,
    LinesOfRecords,
    LoadedWeights,
    LossCallLook,
    LossLook,
    LossSign,
    LossSizes,
    MaskedGradients,
    ModelCode,
    ModelCopies,
    ModelLook,
    ScaledClipping,
    Schedules,
    ScriptSource,
    Seeds,
    Splits,
    StepOrder,
    TrainedParts,
    TrainingStates,
)


class Observers:
    """All observers of one training, and the facts that they find."""

    def __init__(self, seen: ObservedScript) -> None:
        self._seen, self.facts = seen, FactCounts()
        self.all = tuple(self._dropped_on_error(kind(self.facts, seen)) for kind in OBSERVERS)
        self.constructed = methods(self.all, "constructed")
        self.forward = methods(self.all, "forward")
        self.before_step = methods(self.all, "before_step")
        always = [one for one in self.all if one.is_always_told]
        self.always_told = methods(always, "before_step")

    def _dropped_on_error(self, observer: Observer) -> Observer:
        """Return the observer so that its first error ends it, and not the other ones.

        What it looked for is then unknown: its facts are forgotten, and a note tells.
        """
        names = {*observer.before.values(), *observer.after.values()}
        names |= {name for name in _METHODS if overrides(observer, name)}
        for name in names:
            setattr(observer, name, self._guarded(observer, getattr(observer, name)))
        return observer

    def _guarded(self, observer: Observer, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any) -> Any:
            if observer.is_dropped:
                return None
            try:
                return method(*args)
            except Exception as error:
                raise_if_external(error)
                if is_short_of(error):
                    raise
                observer.is_dropped = True
                self.facts.forget(observer.kinds)
                what = f"{type(error).__name__}: {' '.join(str(error).split())}"
                self._seen.notes.append(
                    f"hookcli left out what looks for {join_names(observer.kinds)}, which failed: "
                    f"{what}; please report this"
                )
                return None

        return call

    def references(self, optimizer: Any) -> int:
        """Return how many references to an optimizer the observers have."""
        return sum(observer.references(optimizer) or 0 for observer in self.all)

    def let_go_of(self, optimizer: Any) -> None:
        """Let the observers forget an optimizer that the script has dropped."""
        for observer in self.all:
            observer.let_go_of(optimizer)

    def forget(self, root: RootWatch, records: Sequence[Record]) -> None:
        """Let the observers forget a root that the script has dropped, and its records."""
        for observer in self.all:
            observer.forget(root, records)

    def finish(self) -> None:
        """Let the observers add what is known at the end of the script."""
        for observer in self.all:
            observer.finish()

    def compiler(self) -> CompilerAccount | None:
        """Return what torch.compile did; None if nothing was compiled."""
        found = (one.account() for one in self.all if isinstance(one, Compiler))
        return next(found, None)

    def clipped(self, record: Record) -> Clipped | None:
        """Return the clipping of the gradients that the next step of a record uses, once."""
        found = (one for one in self.all if isinstance(one, Clipping))
        return next((one.of_step(record) for one in found if not one.is_dropped), None)

    def states(self) -> tuple[TrainingState, ...]:
        """Return the states that the training started from and was saved in."""
        found = (one for one in self.all if isinstance(one, TrainingStates))
        return tuple(row for one in found if not one.is_dropped for row in one.rows())

    def looked_for(self) -> dict[str, int]:
        """Return the kinds of facts that were looked for, and how often.

        Those of an observer that failed are left out.
        Nothing is seen from the first torch.compile on: what was not seen before is left out.
        """
        left = [observer for observer in self.all if not observer.is_dropped]
        kinds = [kind for observer in left for kind in observer.kinds]
        looks = {kind: self.facts.looks[kind] for kind in kinds}
        return {kind: many for kind, many in looks.items() if many or not self._seen.compiles}
