"""An inferred batch as data: a guess for each parameter of forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hookcli.spec.inputs import TensorSpec, ValueSpec


@dataclass(frozen=True, slots=True)
class InferredList:
    """A list of tensors or values."""

    items: tuple[Guess, ...]


class HeldSpec(ValueSpec):
    """An existing value of any type. It is equal only to itself."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


Guess: TypeAlias = "TensorSpec | ValueSpec | InferredList"


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
        """Return the same batch with another guess for one parameter."""
        return Hypothesis(
            tuple(replace(s, guess=guess) if s.name == name else s for s in self.slots)
        )

    def with_slot(self, slot: Slot) -> Hypothesis:
        """Return the same batch with one more parameter."""
        return Hypothesis((*self.slots, slot))

    def tensors(self) -> Iterator[tuple[str, TensorSpec]]:
        """Yield the parameters whose guess is one tensor."""
        for slot in self.slots:
            if isinstance(slot.guess, TensorSpec):
                yield slot.name, slot.guess

    def map(
        self, change: Callable[[str, TensorSpec], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return positional and keyword arguments; `change(name, spec)` creates each tensor."""

        def made(name: str, guess: Guess) -> Any:
            if isinstance(guess, InferredList):
                return [made(name, item) for item in guess.items]
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
    """Return the flags that define this batch."""
    return " ".join(
        f"-i {f'{slot.name}=' if slot.keyword else ''}{text_of(slot.guess)}" for slot in hypothesis
    )
