"""Repairs of a hypothesis that failed, from the layer that raised and the error message.

A repair is a pair (hypothesis, reason). The likeliest come first.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

from hookcli.inputs.infer.layer_clues import LENGTH, Clues
from hookcli.inputs.infer.name_clues import guesses, part
from hookcli.inputs.infer.repair_by_layer import Repair, by_layer
from hookcli.inputs.infer.sizes import LARGEST, near, sides, square, with_size
from hookcli.inputs.infer.state_clues import STATE
from hookcli.inputs.infer.trial import Trial
from hookcli.spec.inferred import Hypothesis, InferredDict, InferredList, Slot
from hookcli.spec.inputs import Fill, TensorSpec, ValueSpec

_MATMUL = re.compile(r"\((\d+)x(\d+) and (\d+)x(\d+)\)")
_REDUCTION = re.compile(r"\[([\d, ]+)\] X \[([\d, ]+)\]")
_MATCH = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
_EXPAND = re.compile(
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)|"
    r"Expected (?:size )?(\d+) (?:in dimension \d+ )?but got (?:size )?(\d+)|"
    r"has size (\d+) for operand \d+ which does not broadcast with previously seen size (\d+)"
)
_BROADCAST = re.compile(
    r"broadcast a dimension of length (\d+) at -?\d+!.*broadcastable to \[([\d, ]+)\]", re.DOTALL
)
_RANK = re.compile(r"subscripts in the equation \((\d+)\) does not match")
_UNPACK = re.compile(r"not enough values to unpack \(expected (?:at least )?(\d+), got \d+\)")
_UNPACK_MANY = re.compile(r"too many values to unpack \(expected (\d+)")
_DIMENSIONS = re.compile(
    r"[Ee]xpected (?:\w+ to be )?(?:(\d)D or )?(\d)D(?: input)?,? \(?got (\d)D"
)
_VIEW = re.compile(r"[Ss]hape '?\[([-\d, ]+)\]'? is invalid for input of size (\d+)")
_SMALL = re.compile(
    r"Kernel size can't be greater|Output size is too small|more than 1 (?:spatial|value)|"
    r"Padding size should be less|output size of \(|non-?positive|too small", re.IGNORECASE
)  # fmt: skip
_INDICES = re.compile(
    r"scalar types?: Long, Int|expected scalar type Long|tensors used as ind|must be Long|"
    r"only applicable to index tensor|expected.*Long.*but got|arguments? 'indices'", re.IGNORECASE
)  # fmt: skip
_FLOATS = re.compile(
    r"must have the same dtype|expected (?:scalar type|m1 and m2).*Float|got.*Long.*Float|"
    r"expected floats|not implemented for 'Long'|can only be (?:float|floating)|Input dtype.*Long",
    re.IGNORECASE,
)  # fmt: skip
_SHAPES = re.compile(
    r"(?:size|shape|be|got|Size)[^\[(]{0,12}[\[(]+(\d+(?:, ?\d+)*),?[\])]"  # 2D mask: (16, 16)
)
_INTEGER = re.compile(
    r"cannot be interpreted as an integer|slice indices must be|as an integer", re.I
)


def repairs(trial: Trial, clues: Clues, signature: inspect.Signature) -> Iterator[Repair]:
    """Yield the hypotheses to try next."""
    for changed, why in _each(trial, clues, signature):
        yield _alike(trial.hypothesis, changed), why


def _alike(before: Hypothesis, after: Hypothesis) -> Hypothesis:
    """Images that had the same shape get the same other side."""
    new = dict(after.tensors())
    for name, spec in before.tensors():
        got = new.get(name)
        if got is not None and len(got.shape) == len(spec.shape) >= 4:
            for other, other_spec in before.tensors():
                alike = other_spec == spec and new.get(other) == spec
                if alike and got.shape[2:] != spec.shape[2:]:
                    after = after.with_guess(other, got)
    return after


def _each(trial: Trial, clues: Clues, signature: inspect.Signature) -> Iterator[Repair]:
    if clues.use("").one_step:
        yield _one_step(trial.hypothesis), "forward has a view of one step"
    if trial.failed is not None:
        indices = bool(_INDICES.search(trial.error))
        yield from by_layer(trial, trial.failed, clues, indices=indices)
    yield from _by_text(trial, clues, signature)


def _by_text(trial: Trial, clues: Clues, signature: inspect.Signature) -> Iterator[Repair]:
    message, hypothesis = trial.error, trial.hypothesis
    yield from _missing(trial, clues, signature)
    yield from _without_key(trial, clues)
    yield from _by_line(trial, clues)
    first = next(iter(hypothesis.tensors()), None)
    if first is None:
        return
    name, spec = first
    if _INDICES.search(message):
        for other, other_spec in hypothesis.tensors():
            if other_spec.dtype is None:
                yield hypothesis.with_guess(other, clues.token_ids()), "indices are needed"
                labels = TensorSpec(other_spec.shape[:1], "int64", Fill("range", 0, 2))
                yield hypothesis.with_guess(other, labels), "labels are needed"
    if "1D target tensor expected" in message:
        for other, other_spec in hypothesis.tensors():
            if len(other_spec.shape) > 1:
                labels = TensorSpec(other_spec.shape[:1], "int64", Fill("range", 0, 2))
                yield hypothesis.with_guess(other, labels), "labels are needed"
    if _FLOATS.search(message):
        for other, other_spec in hypothesis.tensors():
            if other_spec.dtype is not None:
                yield (
                    hypothesis.with_guess(other, TensorSpec(other_spec.shape)),
                    "floats are needed",
                )
    if _INTEGER.search(message):
        for other, other_spec in hypothesis.tensors():
            if len(other_spec.shape) <= 1:
                yield hypothesis.with_guess(other, ValueSpec(1)), "an integer is needed"
    if match := _UNPACK.search(message) or _UNPACK_MANY.search(message) or _RANK.search(message):
        specs = dict(hypothesis.tensors())
        if trial.line.unpacked in specs:
            parts = InferredList((specs[trial.line.unpacked],) * int(match[1]))
            yield hypothesis.with_guess(trial.line.unpacked, parts), "it is unpacked"
        if _takes_any_number(signature, trial.line.unpacked):
            more = (Slot(f"args[{i}]", spec, False) for i in range(int(match[1])))
            yield Hypothesis(tuple(more)), f"{match[1]} arguments are unpacked"
        yield from _ranked(hypothesis, int(match[1]), clues)
    yield from _mismatch(trial, name, spec)
    if match := _DIMENSIONS.search(message):
        yield from _dimensions(hypothesis, int(match[2]), int(match[3]))
    if match := _VIEW.search(message):
        yield from _viewed(hypothesis, name, spec, match)
    if _SMALL.search(message) and len(spec.shape) >= 3:
        for side in (2 * spec.shape[-1], 4 * spec.shape[-1], 224):
            if spec.shape[-1] < side <= LARGEST:
                yield hypothesis.with_guess(name, square(spec, side)), f"larger: {side}"
    if "dim" in message.lower() or trial.kind == "IndexError":
        for rank in (len(spec.shape) + 1, len(spec.shape) - 1):
            yield from _ranked(hypothesis, rank, clues)
    yield from _other_shapes(trial)
    yield from _listed(trial)
    if "not iterable" in message or "list" in message.lower():
        yield hypothesis.with_guess(name, InferredList((spec, spec))), "a list is needed"


def _by_line(trial: Trial, clues: Clues) -> Iterator[Repair]:
    """Repairs from the line that raised: a tensor is read as a mapping, or has another shape."""
    if trial.line.keyed is not None:
        path, key = trial.line.keyed
        mapping = InferredDict(((key, part(key, clues)),))
        yield trial.hypothesis.with_guess(path, mapping), f"{path} is read by key"
    for one, other in trial.line.shapes:
        for name, spec in trial.hypothesis.tensors():
            if spec.shape in (one, other):
                needed = other if spec.shape == one else one
                repaired = trial.hypothesis.with_guess(name, replace(spec, shape=needed))
                yield repaired, f"shape {list(needed)} is required"


def _missing(trial: Trial, clues: Clues, signature: inspect.Signature) -> Iterator[Repair]:
    """Omitted parameters that the error names; else those that defaulted to None."""
    parameters = [
        p
        for p in signature.parameters.values()
        if trial.hypothesis.get(p.name) is None and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    # A decoder that is part of the model asks for its own `input_ids`.
    named = [
        p
        for p in parameters
        if re.search(rf"\b(?:decoder_)?{re.escape(p.name.removeprefix('decoder_'))}\b", trial.error)
    ]
    named.sort(key=lambda p: not p.name.startswith("decoder_"))
    nothing = "NoneType" in trial.error and not named
    for parameter in named or (parameters[:6] if nothing else []):
        for guess in guesses(parameter, clues, alone=False)[:2]:
            yield (
                trial.hypothesis.with_slot(Slot(parameter.name, guess, True)),
                f"{parameter.name} is needed",
            )


def _other_shapes(trial: Trial) -> Iterator[Repair]:
    """The error names a shape that an input has, and the one that it must have."""
    listed = [
        tuple(int(n) for n in re.findall(r"\d+", text)) for text in _SHAPES.findall(trial.error)
    ]
    for got, wanted in itertools.permutations(dict.fromkeys(listed), 2):
        for name, spec in trial.hypothesis.tensors():
            if spec.shape == got and wanted and 0 not in wanted:
                why = f"{list(wanted)} is needed instead of {list(got)}"
                changed = TensorSpec(wanted, spec.dtype, spec.fill)
                yield trial.hypothesis.with_guess(name, changed), why


def _listed(trial: Trial) -> Iterator[Repair]:
    """Forward takes its inputs from a list: its first layer got a part of the tensor."""
    hypothesis, failed = trial.hypothesis, trial.failed
    for slot in hypothesis:
        guess = slot.guess
        part = failed.shapes[0] if failed is not None and failed.shapes else None
        if isinstance(guess, TensorSpec) and part == guess.shape[1:]:
            yield hypothesis.with_guess(slot.name, InferredList((guess,) * 2)), "a list"
        if isinstance(guess, InferredList) and "list index out of range" in trial.error:
            longer = InferredList((*guess.items, guess.items[-1]))
            yield hypothesis.with_guess(slot.name, longer), "one more item is needed"


def _one_step(hypothesis: Hypothesis) -> Hypothesis:
    """One token, states of one sample, and what belongs to one sample."""
    for name, spec in hypothesis.tensors():
        shape = (1,) if spec.dtype == "int64" else spec.shape
        if len(shape) == 3:
            shape = (shape[0], 1, shape[2]) if STATE.match(name) else shape[1:]
        hypothesis = hypothesis.with_guess(name, TensorSpec(shape, spec.dtype, spec.fill))
    return hypothesis


def _without_key(trial: Trial, clues: Clues) -> Iterator[Repair]:
    """A mapping lacks a key."""
    if trial.kind != "KeyError":
        return
    key = trial.error.strip("'\"")
    for path, mapping in trial.hypothesis.mappings():
        items = (*mapping.items, (key, part(key, clues)))
        yield trial.hypothesis.with_guess(path, InferredDict(items)), f"{key} is needed"


def _ranked(hypothesis: Hypothesis, rank: int, clues: Clues) -> Iterator[Repair]:
    """Replace inputs by ones with `rank` dimensions."""
    for name, spec in hypothesis.tensors():
        if len(spec.shape) == rank or not 1 <= rank <= 5:
            continue
        if spec.dtype is not None and rank <= 3:
            shape = (clues.batch, *[LENGTH] * (rank - 1))
            yield hypothesis.with_guess(name, TensorSpec(shape, spec.dtype, spec.fill)), f"{rank}-d"
            continue
        for candidate in clues.generic():
            if len(candidate.shape) == rank and candidate != spec:
                yield hypothesis.with_guess(name, candidate), f"{rank} dimensions are needed"
        last = spec.shape[-1] if spec.shape else LENGTH
        if rank == 3:
            yield hypothesis.with_guess(name, TensorSpec((clues.batch, LENGTH, last))), "3-d"
        if rank == 4:
            yield hypothesis.with_guess(name, clues.image()), "an image"
        if rank == 2:
            yield hypothesis.with_guess(name, TensorSpec((clues.batch, last))), "2-d"
        if rank == 5:
            image = clues.image()
            frames = TensorSpec((clues.batch, 8, *image.shape[1:]))
            yield hypothesis.with_guess(name, frames), "5-d"
            if image.shape[-1] > _LARGE:  # its side was computed from a layer behind several frames
                yield hypothesis.with_guess(name, square(frames, 64)), "5-d, with a small image"


_LARGE = 512  # pixels


def _takes_any_number(signature: inspect.Signature, name: str) -> bool:
    parameter = signature.parameters.get(name)
    return parameter is not None and parameter.kind is parameter.VAR_POSITIONAL


def _dimensions(hypothesis: Hypothesis, expected: int, got: int) -> Iterator[Repair]:
    """Give one input as many dimensions more or fewer as a layer's input has too few or too many.

    A dimension more stands behind the samples: frames, or shots of a class.
    """
    for name, spec in hypothesis.tensors():
        fewer = got - expected
        if 0 < fewer < len(spec.shape):
            for shape in (spec.shape[:-fewer], spec.shape[fewer:]):
                repaired = replace(spec, shape=shape)
                yield hypothesis.with_guess(name, repaired), f"{fewer} dimensions fewer"
        elif fewer == -1 and spec.shape:
            repaired = replace(spec, shape=(spec.shape[0], 4, *spec.shape[1:]))
            yield hypothesis.with_guess(name, repaired), "a dimension more"


def _mismatch(trial: Trial, name: str, spec: TensorSpec) -> Iterator[Repair]:
    """Two sizes must be equal: set the input's dimension to the other, or scale its side."""
    hypothesis, message = trial.hypothesis, trial.error
    pairs: list[tuple[int, int]] = []
    if match := _MATMUL.search(message):
        pairs.append((int(match[2]), int(match[3])))
    if match := _REDUCTION.search(message):
        pairs.append((int(match[1].split(",")[-1]), int(match[2].split(",")[0])))
    if match := _MATCH.search(message):
        a, b = int(match[1]), int(match[2])
        pairs += [(a, b), (b, a)]
    if match := _EXPAND.search(message):
        a, b = (int(number) for number in match.groups() if number is not None)
        pairs += [(b, a), (a, b)]
    if match := _BROADCAST.search(message):
        length = int(match[1])
        pairs += [(int(size), length) for size in match[2].split(",") if int(size) != length]
        pairs += [(length, int(size)) for size in match[2].split(",") if int(size) != length]
    for actual, expected in pairs:
        if not actual or not expected:
            continue
        for other, other_spec in hypothesis.tensors():
            for axis in range(len(other_spec.shape) - 1, 0, -1):
                if other_spec.shape[axis] == actual:
                    yield (
                        hypothesis.with_guess(other, with_size(other_spec, axis, expected)),
                        f"{actual}→{expected}",
                    )
            if len(other_spec.shape) == 1 and other_spec.shape[0] == actual:
                yield (
                    hypothesis.with_guess(other, with_size(other_spec, 0, expected)),
                    f"{actual}→{expected}",
                )
        if len(spec.shape) >= 4:
            for extra in (0, 1, 2):  # tokens in addition to the patches
                if actual > extra and expected > extra:
                    side = spec.shape[-1] * math.sqrt((expected - extra) / (actual - extra))
                    if abs(side - round(side)) < 1e-6 and 1 < side <= LARGEST:
                        yield hypothesis.with_guess(name, square(spec, round(side))), "patches"
            for side in sides(spec.shape[-1], expected / actual, 2)[:3]:
                yield hypothesis.with_guess(name, square(spec, side)), f"side {side}"
        elif len(spec.shape) == 3 and actual:
            for axis in (2, 1):
                for size in near(spec.shape[axis] * expected / actual):
                    yield (
                        hypothesis.with_guess(name, with_size(spec, axis, size)),
                        f"{actual}→{expected}",
                    )


def _viewed(
    hypothesis: Hypothesis, name: str, spec: TensorSpec, match: re.Match[str]
) -> Iterator[Repair]:
    """A view that did not fit: make a sample as large as the view's constants require."""
    sizes = [int(s) for s in match[1].split(",") if s.strip()]
    total = int(match[2])
    expected = math.prod(s for s in sizes[1:] if s > 0) if len(sizes) > 1 else 0
    actual = total // spec.shape[0] if spec.shape and spec.shape[0] else 0
    if not expected or not actual:
        return
    per_sample = math.prod(spec.shape[1:])
    if actual == per_sample:
        side = math.isqrt(expected)
        if side * side == expected:
            yield hypothesis.with_guess(name, TensorSpec((spec.shape[0], 1, side, side))), "view"
        if expected % 3 == 0 and math.isqrt(expected // 3) ** 2 == expected // 3:
            side = math.isqrt(expected // 3)
            yield hypothesis.with_guess(name, TensorSpec((spec.shape[0], 3, side, side))), "view"
        yield hypothesis.with_guess(name, TensorSpec((spec.shape[0], expected))), "view"
    if len(spec.shape) >= 4:
        for side in sides(spec.shape[-1], expected / actual, len(spec.shape) - 2):
            yield hypothesis.with_guess(name, square(spec, side)), f"side {side}"
