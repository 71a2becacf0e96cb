"""The batches to try, in order: the given batch, else those that the model declares."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from hookcli.engine.batch.functions import caller, loader_of, take_first
from hookcli.errors import NoBatchError, NoFakeBatchError, RequestError
from hookcli.inputs.declared import declarations
from hookcli.inputs.materialise import given_batch
from hookcli.inputs.split import split_batch
from hookcli.known_failures import hint_for
from hookcli.models import module_tree
from hookcli.models.batch import Batch, forward_signature, map_batch, misfit
from hookcli.models.loaded import Loaded
from hookcli.models.scripted import type_of
from hookcli.report.report import Origin
from hookcli.spec.inferred import Hypothesis
from hookcli.spec.inputs import TensorSpec
from hookcli.spec.losses import TRAINING_STEP
from hookcli.spec.request import Spec

_SMALL = 1 << 24  # elements; a batch up to this size has real tensors, so its values are known


_LONGEST = 160  # characters of a batch in a hint


@dataclass(frozen=True, slots=True)
class InferenceResult:
    """The result of an inference: the batch, a text for errors, and a line for each trial.

    If no batch runs, `furthest` is the one that got furthest, as flags, and `refused_by` the layer
    or the line that raised. `mixed` tells that the model mixes fake tensors with real ones.
    """

    hypothesis: Hypothesis | None = None
    tried: str = ""
    trials: tuple[str, ...] = ()
    mixed: bool = False
    furthest: str = ""
    refused_by: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A batch, and where it comes from."""

    origin: Origin
    name: str
    batch: Batch
    hypothesis: Hypothesis | None = None  # if it was inferred
    batch_is_shared: bool = False  # the other side of a diff made it, with its target


def floating_dtype(root: nn.Module, spec: Spec) -> torch.dtype:
    """Return the requested dtype, else that of the first floating-point parameter or buffer."""
    if spec.run.dtype is not None:
        dtype: torch.dtype = getattr(torch, spec.run.dtype)
        return dtype
    for table in ("_parameters", "_buffers"):
        for tensor, _, _ in module_tree.tensors(root, table):
            if tensor.is_floating_point() and tensor.dtype.itemsize >= 2:
                return tensor.dtype
    return torch.get_default_dtype()


def _how(root: nn.Module) -> str:
    """Return the hint how to give inputs for this forward's signature."""
    signature = forward_signature(root)
    names = (
        []
        if signature is None
        else [
            p.name
            for p in signature.parameters.values()
            if p.default is inspect.Parameter.empty
            and p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        ]
    )
    if not names:
        return "pass `--input 2x3x224x224` for an image, `--input 2x16:int64:0..1000` for ids"
    example = " ".join(f"--input {name}=2x16" for name in names[:4])
    return f"pass `{example}` with the shapes of your inputs (integers: `2x16:int64:0..1000`)"


def given(spec: Spec, root: nn.Module, around: Callable[[], Any]) -> Candidate | None:
    """Return the batch of `--input`, or None without one. Large tensors are made in `around()`."""
    if not spec.inputs:
        return None
    sizes = [
        torch.Size(input_spec.spec.shape).numel()
        for input_spec in spec.inputs
        if isinstance(input_spec.spec, TensorSpec)
    ]
    floating = floating_dtype(root, spec)

    def make() -> Batch:
        return given_batch(
            spec.inputs,
            floating=floating,
            device=spec.run.device,
            call=caller(spec.run.batch_size),
            split=partial(split_batch, root),
        )

    if sum(sizes) > _SMALL:
        with around():
            batch = make()
    else:
        batch = make()
    problem = None if takes_any_batch(spec) else misfit(root, batch)
    if problem is not None and (problem := misfit(root, batch, partly=True)) is None:
        return None  # the missing inputs may be inferred
    if problem is not None:
        raise RequestError(
            f"{type_of(root)}.forward does not accept this input: {problem}",
            place=" ".join(f"--input {input_spec.text}" for input_spec in spec.inputs),
            hint=_as_list(root, spec)
            or f"pass arguments that fit forward{forward_signature(root)}",
        )
    return Candidate("given", "--input", batch)


_LIST = re.compile(r"(?:typing\.)?(?:list|tuple|sequence)\[", re.IGNORECASE)


def _as_list(root: nn.Module, spec: Spec) -> str | None:
    """Return the hint to pass several tensors as one list, if the only parameter is a list."""
    signature = forward_signature(root)
    parameters = [] if signature is None else list(signature.parameters.values())
    given = [one.text for one in spec.inputs]
    if len(parameters) != 1 or len(given) < 2 or any("=" in one for one in given):
        return None
    annotation = parameters[0].annotation
    name = annotation if isinstance(annotation, str) else str(annotation)
    return f"pass one list: `-i '[{', '.join(given)}]'`" if _LIST.match(name) else None


def _completed(spec: Spec, root: nn.Module, name: str, batch: Batch) -> Candidate:
    """Return a file's own batch, with the given inputs in place of its own."""
    signature = forward_signature(root)
    if not spec.inputs or signature is None:
        return Candidate("declared", name, batch)
    floating = floating_dtype(root, spec)
    part = given_batch(
        spec.inputs,
        floating=floating,
        device=spec.run.device,
        call=caller(spec.run.batch_size),
        split=partial(split_batch, root),
    )
    whole = signature.bind(*batch.args, **batch.kwargs)
    whole.arguments.update(signature.bind_partial(*part.args, **part.kwargs).arguments)
    return Candidate("given", "--input", Batch(whole.args, whole.kwargs, part.target))


def _like(result: InferenceResult) -> str | None:
    """Return the hint to correct the batch that got furthest; None if it is too long to read."""
    if not result.furthest or len(result.furthest) > _LONGEST:
        return None
    refuser = result.refused_by or "forward"
    return f"pass a batch that fits {refuser}, in the form of `{result.furthest}`"


def candidates(
    spec: Spec,
    root: nn.Module,
    loaded: Loaded,
    around: Callable[[], Any],
    drop: Callable[[str, str], None],
) -> Iterator[Candidate]:
    """Yield the batches to try, in order; nothing if no batch is given or declared."""
    candidate = given(spec, root, around)
    if candidate is not None:
        yield candidate
        return
    own = _own_loader(spec, root)
    if own is not None:
        yield own
    if loaded.batch is not None:
        yield _completed(spec, root, *loaded.batch)
    for declared in declarations(root, loaded.module, drop, batch_size=spec.run.batch_size):
        yield Candidate("declared", declared.name, declared.batch)


def takes_any_batch(spec: Spec) -> bool:
    """Return whether the model's training_step gets the batch, and forward what it passes on."""
    return spec.run.loss == TRAINING_STEP


def _own_loader(spec: Spec, root: nn.Module) -> Candidate | None:
    """Return the first batch of the model's train_dataloader(), for its training_step."""
    if not takes_any_batch(spec):
        return None
    loader = loader_of(root)
    if loader is None:
        return None
    place = "train_dataloader()"
    first = take_first(loader, spec.run.batch_size, place, place)
    return Candidate("declared", f"the model's {place}", split_batch(root, first))


def in_dtype(candidate: Candidate, root: nn.Module, spec: Spec) -> Candidate:
    """Return a declared batch in the dtype that the model was cast to."""
    if spec.run.dtype is None or candidate.origin != "declared":
        return candidate
    dtype = floating_dtype(root, spec)
    batch = map_batch(candidate.batch, lambda t: t.to(dtype) if t.is_floating_point() else t)
    return replace(candidate, batch=batch)


def not_used(name: str, reason: str) -> str:
    """Return the warning about a declared batch that was not used."""
    return f"{name} was not used: {reason}"


def no_batch(
    root: nn.Module,
    source: str,
    result: InferenceResult | None = None,
    *,
    partial: bool = False,
    fake: bool = False,
) -> NoBatchError:
    """Return the error for a run that has no batch: none given, none declared, none inferred.

    `partial` tells that some inputs were given, which every inferred batch kept, and `fake` that
    the trials had fake tensors, where real ones may succeed.
    """
    result = result or InferenceResult()
    tried = result.tried
    message = f"{type_of(root)} declares no input and none was given{tried}"
    hint = hint_for(tried) or _like(result) or _how(root)
    if partial:
        message = f"no batch with the given `--input` fits {type_of(root)}{tried}"
        every = f"pass `--input` for every argument of forward{forward_signature(root)}"
        hint = hint_for(tried) or every
    return (NoFakeBatchError if fake and result.mixed else NoBatchError)(
        message,
        place=source,
        hint=hint,
        details="\n".join(result.trials),
    )
