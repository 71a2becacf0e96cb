"""Computes statistics on a CPU with a few fast operators that are exact enough together.

Modes, autograd and autocast must be off (`statistics` does that). Tensors must come from `compact`
and have at least one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from hookcli.engine.statistics.chunks import chunks, pieces
from hookcli.engine.statistics.moments import Elements, Moments, constant
from hookcli.engine.statistics.readable import FLOAT8

_SMALL = 1 << 13  # elements up to which float64 costs no more than float32 with its row sums
_SERIAL = 1 << 15  # elements up to which torch's operators use one thread
_FEW = 1 << 14  # elements up to which count_nonzero, which branches, is the fastest
_BYTES = 1024  # elements per sum: each byte adds up an eighth of them, and does not overflow
_BLOCK = 1 << 20  # elements per piece if no copy is needed: later passes find it in the cache
_LONG = 1 << 24  # elements per piece if it is read once: fewer operators are faster
_ROW = 1024  # float32 sums of a row are exact to 1e-7; the rows are summed in float64

# Dtypes whose values and differences float32 can represent; others are computed in float64.
_SINGLE = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, *FLOAT8, torch.bool, torch.uint8, torch.int8,
     torch.int16, torch.uint16}
)  # fmt: skip

# Dtypes for which torch computes a norm in float64.
_NORMED = frozenset({torch.float32, torch.float16, torch.bfloat16})

# The least and greatest absolute maximum whose squares neither underflow nor overflow, and the
# share of the squared mean below which the variance is not computed from the sum of squares.
_LIMITS = {torch.float32: (1e-15, 1e15, 1 / 16), torch.float64: (1e-140, 1e140, 1e-6)}


def on_cpu(view: Tensor) -> Elements:
    """Compute in float32 if the extremes allow it, else in float64, else with scaling."""
    if view.numel() > _SMALL and view.dtype in _SINGLE:
        moments = _quick(view, torch.float32)
        if moments is not None:
            return Elements(moments)
    moments = _quick(view, torch.float64)
    return _careful(view) if moments is None else Elements(moments)


def quick_norm(view: Tensor) -> float | None:
    """Return the 2-norm of the elements in one pass; None if another way is as fast or necessary.

    Another way is necessary if an element is not finite, or squares may overflow or underflow.
    """
    if view.device.type != "cpu" or view.dtype not in _SINGLE:
        return None
    if view.numel() <= _SMALL:
        return _small_norm(view) if view.dtype in _NORMED else None
    own = view.dtype is not torch.float32 or not view.is_contiguous()
    return _quick_norm(pieces(view, torch.float32) if own else chunks(view, _LONG), view.numel())


def quick_norm_of_sum(tensor: Tensor, other: Tensor) -> float | None:
    """Return the 2-norm of the sum of two tensors, added in pieces that stay in the cache."""
    if not tensor.dtype is other.dtype is torch.float32 or tensor.numel() <= _SMALL:
        return None
    if tensor.device.type != "cpu" or tensor.device != other.device or tensor.dim() != 1:
        return None
    buffer = torch.empty(min(tensor.numel(), _BLOCK))
    pairs = zip(chunks(tensor, _BLOCK), chunks(other, _BLOCK), strict=True)
    sums = (torch.add(a, b, out=buffer.narrow(0, 0, a.numel())) for a, b in pairs)
    return _quick_norm(sums, tensor.numel())


def _quick_norm(tensors: Iterable[Tensor], count: int) -> float | None:
    squares = 0.0
    for piece in tensors:
        squares += _squares(piece)
        if not math.isfinite(squares):
            return None
    norm = math.sqrt(squares)
    return norm if norm > _LIMITS[torch.float32][0] * math.sqrt(count) else None


def _small_norm(view: Tensor) -> float | None:
    norm = torch.linalg.vector_norm(view, dtype=torch.float64).item()
    return norm if norm == 0 or 1e-140 < norm < math.inf else None


def _squares(piece: Tensor) -> float:
    """Return the sum of squares of float32 elements."""
    whole = piece.numel() // _ROW * _ROW
    squares = 0.0
    if whole:
        norms = torch.linalg.vector_norm(piece.narrow(0, 0, whole).view(-1, _ROW), dim=1)
        squares = torch.linalg.vector_norm(norms, dtype=torch.float64).item() ** 2
    if whole < piece.numel():
        squares += sum_of_squares(piece.narrow(0, whole, piece.numel() - whole).double())
    return squares


def _ends(piece: Tensor) -> tuple[float, float]:
    """Return the least and greatest element; both are finite if and only if all elements are."""
    low, high = torch.aminmax(piece)
    return low.item(), high.item()


def _quick(view: Tensor, dtype: torch.dtype) -> Moments | None:
    """Compute in one pass; None if an element is not finite, or squares may leave the range."""
    least, most, share = _LIMITS[dtype]
    own = view.dtype is not dtype or not view.is_contiguous()
    moments = Moments(count=view.numel())
    total = squares = 0.0
    for piece in pieces(view, dtype) if own else chunks(view, _BLOCK):
        low, high = _ends(piece)
        top = max(-low, high)
        if not (least < top < most or top == 0):  # or NaN
            return None
        moments.low, moments.high = min(moments.low, low), max(moments.high, high)
        if low == high:
            count = piece.numel()
            total += low * count
            squares += low * low * count
            moments.zeros += 0 if low else count
            continue
        part, square = _sums(piece)
        total += part
        squares += square
        if low <= 0 <= high:
            moments.zeros += _zeros(piece)
    if moments.low == moments.high:
        return constant(moments.count, moments.low)
    _settle(moments, view, total, squares, share=share)
    return moments


def _sums(piece: Tensor) -> tuple[float, float]:
    """Return the sum and the sum of squares."""
    if piece.dtype is torch.float64:
        return piece.sum().item(), sum_of_squares(piece)
    whole = piece.numel() // _ROW * _ROW
    total = 0.0
    if whole:
        rows = piece.narrow(0, 0, whole).view(-1, _ROW)
        total = rows.sum(1).sum(dtype=torch.float64).item()
    if whole < piece.numel():
        total += piece.narrow(0, whole, piece.numel() - whole).double().sum().item()
    return total, _squares(piece)


def sum_of_squares(piece: Tensor) -> float:
    """Return the sum of squares of a one-dimensional float64 tensor."""
    if piece.numel() > _SERIAL:
        return float(torch.dot(piece, piece))  # faster, but uses the threads of BLAS
    return float(torch.linalg.vector_norm(piece)) ** 2


def _count(ones: Tensor) -> int:
    """Return the number of ones in a float mask, which is faster to make than a boolean one."""
    return int(ones.sum().item())


def _zeros(piece: Tensor) -> int:
    """Return the number of zeros in a one-dimensional tensor.

    Converting to booleans is fast, but adding booleans is slow. So eight are added at a time, as
    the bytes of an int64, in sums that are short enough that no byte overflows.
    """
    count = piece.numel()
    if count <= _FEW:
        return count - int(torch.count_nonzero(piece).item())
    whole = count // _BYTES * _BYTES
    others = torch.empty(whole, dtype=torch.bool, device=piece.device)
    others.copy_(piece.narrow(0, 0, whole))
    bytewise = others.view(torch.int64).view(-1, _BYTES // 8).sum(1)
    zeros = whole - int(bytewise.view(torch.uint8).sum().item())
    return zeros if whole == count else zeros + _zeros(piece.narrow(0, whole, count - whole))


def _settle(
    moments: Moments,
    view: Tensor,
    total: float,
    squares: float,
    *,
    share: float,
    scale: float = 1.0,
) -> None:
    """Set norm, mean and spread from the sums of the elements times `scale`, a power of two.

    If the mean is large relative to the spread, a second pass subtracts the mean.
    """
    count = moments.count
    mean = total / count
    variance = squares / count - mean * mean
    if variance < share * mean * mean:
        off, about = _about(view, scale, mean)
        mean += off / count
        variance = about / count - (off / count) ** 2
    moments.norm = math.sqrt(squares) / scale
    moments.mean = mean / scale
    moments.spread = math.sqrt(max(variance, 0.0) * count) / scale


def _about(view: Tensor, scale: float, shift: float) -> tuple[float, float]:
    """Return sum and sum of squares of `element * scale - shift` in float64, if finite."""
    total = squares = 0.0
    for piece in pieces(view, torch.float64):
        if scale != 1.0:
            piece.mul_(scale)
        if shift:
            piece.sub_(shift)
        total_, squares_ = _sums(piece)
        if not math.isfinite(squares_):
            total_, squares_ = _sums(piece.nan_to_num_(0.0, 0.0, 0.0))
        total += total_
        squares += squares_
    return total, squares


def _careful(view: Tensor) -> Elements:
    """Compute with scaling of huge and tiny elements; non-finite ones are only counted."""
    elements = Elements(Moments())
    finite, inf = elements.finite, math.inf
    for piece in pieces(view, torch.float64):
        low, high = _ends(piece)
        others = 0
        if math.isfinite(low) and math.isfinite(high):
            finite.zeros += _zeros(piece)
        else:
            mask = torch.empty_like(piece)
            nans = _count(torch.ne(piece, piece, out=mask))
            above, below, zeros = (
                _count(torch.eq(piece, value, out=mask)) for value in (inf, -inf, 0)
            )
            others = nans + above + below
            elements.nans += nans
            elements.above += above
            elements.below += below
            finite.zeros += zeros
            low = torch.nan_to_num(piece, inf, inf, inf, out=mask).amin().item()
            high = torch.nan_to_num(piece, -inf, -inf, -inf, out=mask).amax().item()
        finite.count += piece.numel() - others
        finite.low, finite.high = min(finite.low, low), max(finite.high, high)
    if finite.low == finite.high:
        elements.finite = constant(finite.count, finite.low)
    elif finite.count:
        _, exponent = math.frexp(max(-finite.low, finite.high))
        scale = 2.0 ** min(-exponent, 1000) if abs(exponent) > 400 else 1.0
        total, squares = _about(view, scale, 0.0)
        _settle(finite, view, total, squares, share=1e-6, scale=scale)
    return elements
