"""Infers a batch by running trials with fake tensors, and describes the trials."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pickle import dumps, loads  # imported early: a model may replace them
from typing import Any

import torch

from hookcli.engine.batch.candidates import InferenceResult
from hookcli.engine.batch.fake_checks import FakeTensorChecks
from hookcli.engine.batch.functions import value_of
from hookcli.engine.batch.trials import trier
from hookcli.engine.neutrality.model_state import preserve_state
from hookcli.engine.seeds import seed_all
from hookcli.inputs.infer.search import Search, search
from hookcli.inputs.infer.trial import Trial
from hookcli.inputs.materialise import make_tensor
from hookcli.models.batch import Batch, forward_signature
from hookcli.models.fake.fake import Faker
from hookcli.models.fake.fork import CAN_FORK, in_fork
from hookcli.models.model import Model
from hookcli.spec.inferred import Guess, HeldSpec, Hypothesis, command
from hookcli.spec.inputs import InputSpec, TensorSpec, ValueSpec
from hookcli.spec.request import Spec
from hookcli.text import counted, shorten

_PATIENCE = 60.0  # seconds that a search in a fork may take


@dataclass(frozen=True, slots=True)
class Instead:
    """What runs in place of forward: a `function` whose first parameter is the batch.

    `run(batch)` calls it.
    """

    function: Callable[..., Any]
    run: Callable[[Any], Any]


def found_with(
    model: Model,
    spec: Spec,
    faker: Faker,
    floating: torch.dtype,
    doing: Callable[[str], None],
    instead: Instead | None = None,
) -> InferenceResult:
    """Infer a batch for a model that has fake tensors."""
    return infer(
        model,
        spec,
        floating=floating,
        around=lambda: faker.mode,
        fake=faker.tensor,
        doing=doing,
        instead=instead,
    )


def found_with_real(
    model: Model,
    spec: Spec,
    floating: torch.dtype,
    doing: Callable[[str], None],
    instead: Instead | None = None,
) -> InferenceResult:
    """Infer a batch by trials with real tensors, in a fork, each with the model as it was before.

    It is for a model that fake tensors cannot run: it has layers in plain lists, or lazy layers.
    """

    def work() -> bytes:
        torch.set_num_threads(1)  # a fork does not have the threads of the pool
        found = infer(
            model,
            spec,
            floating=floating,
            around=lambda: preserve_state(model.root, []),
            fake=None,
            doing=lambda _: None,
            instead=instead,
        )
        return dumps(found)

    doing("inferring the batch with real tensors")
    return _from_fork(work)


def found_beside(
    model: Model,
    spec: Spec,
    floating: torch.dtype,
    doing: Callable[[str], None],
    instead: Instead | None = None,
) -> InferenceResult:
    """Infer a batch for a model with real tensors, in a fork where it gets fake tensors."""

    def work() -> bytes:
        torch.set_num_threads(1)  # a fork does not have the threads of the pool
        faker = Faker(spec.run.device)
        faker.module(model.root)
        return dumps(found_with(model, spec, faker, floating, lambda _: None, instead))

    doing("inferring the batch")
    return _from_fork(work)


def _from_fork(work: Callable[[], bytes]) -> InferenceResult:
    data = in_fork(work, patience=_PATIENCE)
    if data is None:
        lost = "; the process that tried inferred batches ended early" if CAN_FORK else ""
        return InferenceResult(tried=lost)
    result = loads(data)  # safe: from our own fork
    return result if isinstance(result, InferenceResult) else InferenceResult()


def infer(
    model: Model,
    spec: Spec,
    *,
    floating: torch.dtype,
    around: Callable[[], Any],
    fake: Callable[[torch.Tensor], torch.Tensor] | None,
    doing: Callable[[str], None],
    instead: Instead | None = None,
) -> InferenceResult:
    """Search for a batch; nothing is found if forward's signature is unknown.

    Inputs of `--input` are kept. `fake` makes the fake counterpart of a tensor with known values;
    None: the model has real tensors, and `around()` restores it. `instead` is what runs instead of
    forward.
    """
    step = None if instead is None else instead.function
    signature = forward_signature(model.root) if step is None else _of_batch(step)
    if signature is None:
        return InferenceResult()
    names = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    unnamed = iter(names)
    given: dict[str, Guess] = {}
    for input_spec in spec.inputs:
        name = input_spec.name if input_spec.name is not None else next(unnamed, None)
        if name is None:
            return InferenceResult()
        given[name] = (
            input_spec.spec
            if isinstance(input_spec.spec, TensorSpec)
            else _fixed(input_spec, spec.run.batch_size)
        )

    def known(real: torch.Tensor, doubts: FakeTensorChecks) -> torch.Tensor:
        return real if fake is None else doubts.knowing(real, fake(real))

    try_one = trier(
        model,
        around,
        known,
        floating=floating,
        device=spec.run.device,
        grad=spec.run.grad,
        real=fake is None,
        call=None if instead is None else lambda args, _: instead.run(args[0]),
    )
    numbers = count(1)

    def attempt(hypothesis: Hypothesis) -> Trial:
        doing(f"inferring the batch, trial {next(numbers)}")
        return try_one(hypothesis)

    batch_size = spec.run.batch_size
    return result_of(
        search(model.root, signature, attempt, batch=batch_size, given=given, function=step)
    )


def _of_batch(step: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of training_step without its indices."""
    try:
        first, *_ = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):
        return None
    return inspect.Signature([first])


def _fixed(input_spec: InputSpec, batch_size: int) -> HeldSpec:
    """Return the value of an input; it need not be hashable or comparable."""
    if isinstance(input_spec.spec, ValueSpec):
        return HeldSpec(input_spec.spec.value)
    return HeldSpec(value_of(input_spec, batch_size))


def batch_of(hypothesis: Hypothesis, floating: torch.dtype, spec: Spec) -> Batch:
    """Return the inferred batch with values drawn from the seed."""
    seed_all(spec.run.seed + spec.run.rank)
    args, kwargs = hypothesis.map(
        lambda _, tensor_spec: make_tensor(tensor_spec, floating, spec.run.device)
    )
    return Batch(args, kwargs)


def lines(result: Search) -> tuple[str, ...]:
    """Return a line for each trial: its inputs, the reason for them, and the result."""
    trial_lines = []
    for i, trial in enumerate(result.trials):
        outcome = "runs" if trial.ran else f"{trial.kind}: {_one_line(trial.error, 120)}"
        where = f" in {trial.failed.name}" if trial.failed is not None else ""
        trial_lines.append(
            f"trial {i}: {command(trial.hypothesis)} ({trial.why}){where}: {outcome}"
        )
    if len(result.reasons) > 1:
        steps = "; then ".join(result.reasons)
        trial_lines.append(f"inferred: {steps}")
    return tuple(trial_lines)


def result_of(result: Search) -> InferenceResult:
    """Return what a search found; without a batch, how far the best trial got."""
    if result.found is not None or not result.trials:
        return InferenceResult(result.found, trials=lines(result))
    best = max(result.trials, key=_distance)
    failed = best.failed
    where = f" at line {best.line.number}" if best.line.number else ""
    if failed is not None and failed.name:
        where = f" in '{failed.name}' ({type(failed.module).__name__})"
    count = counted(len(result.trials), "inferred batch", "inferred batches")
    if len(result.trials) == 1:
        failed_with = "failed with"
    elif len({trial.key for trial in result.trials}) == 1:
        failed_with = "failed, all with"
    else:
        failed_with = "failed, the best one with"
    return InferenceResult(
        tried=f"; {count} {failed_with} {best.kind}{where}: {_one_line(best.error, 160)}",
        trials=lines(result),
        mixed=any(trial.mixed for trial in result.trials),
        furthest=command(best.hypothesis),
        refused_by=_refuser(best),
    )


def _one_line(error: str, width: int) -> str:
    return shorten(" ".join(error.split()), width)


def _refuser(trial: Trial) -> str:
    """Return what raised: a layer, a line of forward, or "" if neither is known."""
    if trial.failed is not None and trial.failed.name:
        return f"'{trial.failed.name}'"
    return f"line {trial.line.number}" if trial.line.number else ""


def _distance(trial: Trial) -> tuple[int, int]:
    """Return how many calls of layers ended, and the line that raised."""
    return len(trial.reached) - (trial.failed is not None), trial.line.number
