"""Other sizes of an input, as an error suggests them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hookcli.spec.inputs import TensorSpec

_COMMON = (224, 32, 28, 64, 96, 128, 256, 299, 227, 84, 48, 112, 160, 192, 384, 512)
LARGEST = 1024  # pixels of a side
LONGEST = 1 << 16  # features, or steps of a sequence


def resized(spec: TensorSpec, expected: int, actual: int) -> Iterator[tuple[TensorSpec, str]]:
    """Yield other sizes of an input, from which `expected` may follow instead of `actual`."""
    shape = spec.shape
    for axis in range(len(shape) - 1, 0, -1):
        if shape[axis] == actual:
            yield with_size(spec, axis, expected), f"dimension {axis}"
    for axis in range(
        1, len(shape) if len(shape) < 4 else 2
    ):  # other channels were concatenated to it before
        size = shape[axis] + expected - actual
        if 0 < size < shape[axis] and shape[axis] != actual:
            yield with_size(spec, axis, size), f"dimension {axis} reduced by {actual - expected}"
    if len(shape) >= 4:
        for side in sides(shape[-1], expected / actual, len(shape) - 2):
            yield square(spec, side), f"side {side}"
    elif len(shape) == 3:
        for size in near(shape[-1] * expected / actual):
            yield with_size(spec, 2, size), f"length {size}"
        for size in near(shape[1] * expected / actual):
            yield with_size(spec, 1, size), f"length {size}"
    elif len(shape) == 2 and expected % 1 == 0:
        for size in near(shape[-1] * expected / actual):
            yield with_size(spec, 1, size), f"features {size}"


def with_size(spec: TensorSpec, axis: int, size: int) -> TensorSpec:
    """Return the spec with another size of one dimension."""
    shape = list(spec.shape)
    shape[axis] = size
    return TensorSpec(tuple(shape), spec.dtype, spec.fill)


def square(spec: TensorSpec, side: int) -> TensorSpec:
    """Return the spec with another side."""
    return TensorSpec((*spec.shape[:2], *[side] * (len(spec.shape) - 2)), spec.dtype, spec.fill)


def near(value: float) -> list[int]:
    """Return the size as an integer, rounded, in a list; an empty list if it is out of range."""
    whole = round(value)
    return [whole] if 0 < whole <= LONGEST else []


def sides(side: int, ratio: float, dims: int) -> list[int]:
    """Sides of an image for which a flattened feature map would have `ratio` times its size.

    Convolutions and pooling cut a border off, so the true side is somewhat larger than the
    proportional one. Common sizes come first.
    """
    guess = side * ratio ** (1 / dims)
    low, high = guess * 0.85, guess * 1.6 + 8
    common = [s for s in _COMMON if low <= s <= high and s != side]
    close = sorted(common, key=lambda s: abs(s - guess))
    exact = [round(guess), math.ceil(guess) + 4]
    return [s for s in dict.fromkeys([*close, *exact]) if 1 < s <= LARGEST and s != side][:6]
