"""The dtypes of stored tensors: their sizes, and their elements as NumPy arrays. Torch-free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, slots=True)
class StoredDtype:
    """A dtype, by the name that torch gives it without "torch.".

    `bits` is the size of an element. `decode` returns the elements of one-dimensional bytes as
    numbers that NumPy has, each exactly; None: hookcli cannot read its elements.
    """

    name: str
    bits: int
    decode: Callable[[Array], Array] | None

    def size_of(self, count: int) -> int:
        """Return the number of bytes of so many elements, rounded up."""
        return (count * self.bits + 7) // 8


def _plain(name: str) -> Callable[[Array], Array]:
    return lambda raw: raw.view(np.dtype(name))


def _bfloat16(raw: Array) -> Array:
    """Return bfloat16 as float32, of which it is the upper half."""
    wide = raw.view("<u2").astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _float8(exponent: int, mantissa: int, bias: int, special: str) -> Callable[[Array], Array]:
    return lambda raw: _float8_values(exponent, mantissa, bias, special)[raw]


@cache
def _float8_values(exponent: int, mantissa: int, bias: int, special: str) -> Array:
    """Return the 256 values of a float of eight bits (arXiv 2209.05433; fnuz: arXiv 2206.02915).

    `special` tells which codes are no numbers: "ieee", "fn" (NaN alone, all ones) or "fnuz" (NaN
    is the code of -0).
    """
    code = np.arange(256)
    power, fraction = (code >> mantissa) & ((1 << exponent) - 1), code & ((1 << mantissa) - 1)
    normal = (1 + fraction / (1 << mantissa)) * 2.0 ** (power - bias)
    values = np.where(power == 0, fraction / (1 << mantissa) * 2.0 ** (1 - bias), normal)
    values = np.where(code >= 128, -values, values)
    if special == "ieee":
        top = power == (1 << exponent) - 1
        infinite = np.where(code >= 128, -np.inf, np.inf)
        values = np.where(top, np.where(fraction == 0, infinite, np.nan), values)
    elif special == "fn":
        values = np.where((code & 127) == 127, np.nan, values)
    else:
        values = np.where(code == 128, np.nan, values)
    return values.astype(np.float32)


@cache
def _scale_values() -> Array:
    """Return the values of float8_e8m0fnu: powers of two, and NaN (OCP Microscaling Formats)."""
    values = 2.0 ** (np.arange(256) - 127.0)
    values[255] = np.nan
    return values  # float64: 2**-127 is subnormal in float32


def _complex32(raw: Array) -> Array:
    return raw.view("<f2").astype(np.float32).view(np.complex64)


DTYPES: dict[str, StoredDtype] = {
    row.name: row
    for row in (
        StoredDtype("float64", 64, _plain("<f8")),
        StoredDtype("float32", 32, _plain("<f4")),
        StoredDtype("float16", 16, lambda raw: raw.view("<f2").astype(np.float32)),
        StoredDtype("bfloat16", 16, _bfloat16),
        StoredDtype("float8_e4m3fn", 8, _float8(4, 3, 7, "fn")),
        StoredDtype("float8_e5m2", 8, _float8(5, 2, 15, "ieee")),
        StoredDtype("float8_e4m3fnuz", 8, _float8(4, 3, 8, "fnuz")),
        StoredDtype("float8_e5m2fnuz", 8, _float8(5, 2, 16, "fnuz")),
        StoredDtype("float8_e8m0fnu", 8, lambda raw: _scale_values()[raw]),
        StoredDtype("float4_e2m1fn_x2", 8, None),
        StoredDtype("int64", 64, _plain("<i8")),
        StoredDtype("int32", 32, _plain("<i4")),
        StoredDtype("int16", 16, _plain("<i2")),
        StoredDtype("int8", 8, _plain("i1")),
        StoredDtype("uint64", 64, _plain("<u8")),
        StoredDtype("uint32", 32, _plain("<u4")),
        StoredDtype("uint16", 16, _plain("<u2")),
        StoredDtype("uint8", 8, _plain("u1")),
        StoredDtype("bool", 8, lambda raw: raw != 0),
        StoredDtype("complex32", 32, _complex32),
        StoredDtype("complex64", 64, _plain("<c8")),
        StoredDtype("complex128", 128, _plain("<c16")),
        StoredDtype("qint8", 8, _plain("i1")),
        StoredDtype("quint8", 8, _plain("u1")),
        StoredDtype("qint32", 32, _plain("<i4")),
    )
}
