"""An inferred batch as data: a guess for each parameter of forward."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hookcli.spec.inputs import Fill, TensorSpec, ValueSpec

_FEW = 2  # ids: 0 and 1


@dataclass(frozen=True, slots=True)
class InferredList:
    """A list of tensors or values."""

    items: tuple[Guess, ...]


@dataclass(frozen=True, slots=True)
class InferredDict:
    """A mapping of tensors or values."""

    items: tuple[tuple[str, Guess], ...]

    def get(self, key: str) -> Guess | None:
        """Return the guess for a key, or None."""
        return next((guess for name, guess in self.items if name == key), None)


class HeldSpec(ValueSpec):
    """An existing value of any type. It is equal only to itself."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


Guess: TypeAlias = "TensorSpec | ValueSpec | InferredList | InferredDict"


def _tensors(path: str, guess: Guess) -> Iterator[tuple[str, TensorSpec]]:
    if isinstance(guess, TensorSpec):
        yield path, guess
    for key, item in _items(guess):
        yield from _tensors(f"{path}[{key}]", item)


def _mappings(path: str, guess: Guess) -> Iterator[tuple[str, InferredDict]]:
    if isinstance(guess, InferredDict):
        yield path, guess
    for key, item in _items(guess):
        yield from _mappings(f"{path}[{key}]", item)


def _items(guess: Guess) -> Iterable[tuple[str | int, Guess]]:
    if isinstance(guess, InferredList):
        return enumerate(guess.items)
    return guess.items if isinstance(guess, InferredDict) else ()


def _with(path: str, guess: Guess, changed: str, new: Guess) -> Guess:
    """Return `guess`, which is at `path`, with `new` at the path `changed`."""
    if path == changed:
        return new
    if not changed.startswith(f"{path}["):
        return guess
    items = [(key, _with(f"{path}[{key}]", item, changed, new)) for key, item in _items(guess)]
    if isinstance(guess, InferredDict):
        return InferredDict(tuple((str(key), item) for key, item in items))
    return InferredList(tuple(item for _, item in items)) if items else guess


@dataclass(frozen=True, slots=True)
class Slot:
    """One parameter of forward and the guess for it."""

    name: str
    guess: Guess
    keyword: bool  # passed as a keyword argument


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A guess for the whole batch. Slots are in the order of the signature."""

    slots: tuple[Slot, ...]

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots)

    def get(self, name: str) -> Guess | None:
        """Return the guess for a parameter, or None if the batch omits it."""
        return next((slot.guess for slot in self.slots if slot.name == name), None)

    def with_guess(self, name: str, guess: Guess) -> Hypothesis:
        """Return the same batch with another guess for one parameter, or for a part of one.

        The part is named as `tensors` names it: `xs[0]`, `batch[image]`.
        """
        return Hypothesis(
            tuple(replace(s, guess=_with(s.name, s.guess, name, guess)) for s in self.slots)
        )

    def with_smallest_ids(self) -> Hypothesis:
        """Return the same batch with ids of 0 and 1, which any table has."""
        smaller = self
        for path, spec in self.tensors():
            if spec.fill.kind == "range" and spec.fill.low == 0 and spec.fill.high > _FEW:
                fill = Fill("range", 0, _FEW)
                smaller = smaller.with_guess(path, replace(spec, fill=fill))
        return smaller

    def with_slot(self, slot: Slot) -> Hypothesis:
        """Return the same batch with one more parameter."""
        return Hypothesis((*self.slots, slot))

    def tensors(self) -> Iterator[tuple[str, TensorSpec]]:
        """Yield every tensor with its path: `x`, `xs[0]`, `batch[image]`."""
        for slot in self.slots:
            yield from _tensors(slot.name, slot.guess)

    def mappings(self) -> Iterator[tuple[str, InferredDict]]:
        """Yield every mapping with its path: `batch`, `batch[meta]`."""
        for slot in self.slots:
            yield from _mappings(slot.name, slot.guess)

    def map(
        self, change: Callable[[str, TensorSpec], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments; `change(name, spec)` creates each tensor."""

        def made(name: str, guess: Guess) -> Any:
            if isinstance(guess, InferredList):
                return [made(f"{name}[{i}]", item) for i, item in enumerate(guess.items)]
            if isinstance(guess, InferredDict):
                return {key: made(f"{name}[{key}]", item) for key, item in guess.items}
            return change(name, guess) if isinstance(guess, TensorSpec) else guess.value

        return (
            tuple(made(s.name, s.guess) for s in self.slots if not s.keyword),
            {s.name: made(s.name, s.guess) for s in self.slots if s.keyword},
        )


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # an integer with too many digits, an object of the user's
        return f"<{type(value).__name__}>"


def text_of(guess: Guess) -> str:
    """Return the guess in the grammar of `--input`, as far as the grammar supports it."""
    if isinstance(guess, InferredList):
        return "[" + ", ".join(text_of(item) for item in guess.items) + "]"
    if isinstance(guess, InferredDict):
        return "{" + ", ".join(f"{key}: {text_of(item)}" for key, item in guess.items) + "}"
    if isinstance(guess, ValueSpec):
        value = guess.value
        return "value:" + (str(value).lower() if isinstance(value, bool | None) else _text(value))
    if guess.shape:
        shape, dtype = "x".join(map(str, guess.shape)), guess.dtype
        text = shape + (f":{dtype}" if dtype else "")
    else:
        text = f"{guess.dtype or 'float32'}[]"
    if guess.fill.kind == "range":
        text += f":{guess.fill.low}..{guess.fill.high}"
    elif guess.fill.kind != "default":
        text += f":{guess.fill.kind}"
    return text


def command(hypothesis: Hypothesis) -> str:
    """Return the flags that define this batch, as they are typed in a shell."""
    texts = (f"{f'{s.name}=' if s.keyword else ''}{text_of(s.guess)}" for s in hypothesis)
    return " ".join(f"-i {shlex.quote(text)}" for text in texts)


def changes(before: Hypothesis, after: Hypothesis) -> str:
    """Return what differs between two batches: "x 2x3x64x64 → 2x3x28x28"."""
    old = dict(before.tensors())
    parts = [
        f"{path} {text_of(old[path])} → {text_of(spec)}"
        if path in old
        else f"{path} {text_of(spec)}"
        for path, spec in after.tensors()
        if old.get(path) != spec
    ]
    return ", ".join(parts) or "the same"
