"""What functions that resample images are called with: sizes, grids and matrices.

A grid of grid_sample has (x, y) in its last dimension, between -1 and 1. Its identity has a step of
2 / (W - 1) with align_corners=True, and of 2 / W without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType

import torch

from hookcli.engine.probes.function_calls import Finding

_LARGEST = 1 << 22  # elements of a tensor that is read
_SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")
_CLASSES = range(3, 65)  # numbers of different values that are class ids
_OUTSIDE = 0.9  # of the points of a grid
_FAR = 2.0  # a coordinate that is outside of the image by half of its size
_ALONG, _ACROSS = 0.98, 0.1  # correlations
_NEAR = 0.1  # of the difference between the two steps
_SHRUNK = 0.5  # the size of the part of an image, relative to it
_SMALLEST = 4  # pixels


def resized(frame: FrameType) -> Finding:
    """Return that F.interpolate exchanges height and width, or averages class ids."""
    given = frame.f_locals
    image, size = given["input"], given["size"]
    if not isinstance(image, torch.Tensor) or image.dim() < 3:
        return None
    shape = tuple(map(int, image.shape[2:]))
    wanted = tuple(size) if isinstance(size, list | tuple | torch.Size) else ()
    if len(wanted) == len(shape) == 2 and _is_exchanged(shape, wanted):
        return "exchanged_size", {"size": [*map(int, wanted)], "shape": [*image.shape]}
    if given["mode"] in _SMOOTH and _has_classes(image):
        return "class_map", {"mode": given["mode"], "largest": int(image.max())}
    return None


def _is_exchanged(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    (height, width), (high, wide) = shape, wanted
    return high * height == wide * width and high * width != wide * height


def _has_classes(image: torch.Tensor) -> bool:
    """Return whether an image of one channel has few whole numbers, and not 0 and 1 only."""
    if image.shape[1] != 1 or image.requires_grad or not _is_readable(image):
        return False
    if bool((image < 0).any()) or not bool((image == image.round()).all()):
        return False
    return len(torch.unique(image)) in _CLASSES and int(image.max()) < _CLASSES.stop


def sampled(frame: FrameType) -> Finding:
    """Return that the grid of F.grid_sample has pixels, (y, x), or other corners."""
    given = frame.f_locals
    image, grid = given["input"], given["grid"]
    if not isinstance(grid, torch.Tensor) or grid.dim() != 4 or not _is_readable(grid):
        return None
    plain = grid.detach().float()
    far = (plain.abs() > _FAR).any(-1)
    share = float(far.float().mean())
    if share > _OUTSIDE:
        return "pixel_grid", {"share": share, "largest": float(plain.max())}
    height, width = map(int, plain.shape[1:3])
    if min(height, width) < _SMALLEST:
        return None
    x = plain[..., 0].mean(0)
    rows, columns = torch.arange(height).float(), torch.arange(width).float()
    along, across = _correlation(x.mean(1).cpu(), rows), _correlation(x.mean(0).cpu(), columns)
    if along > _ALONG and abs(across) < _ACROSS and _spread(x.mean(1)) > _spread(x.mean(0)):
        return "exchanged_grid", {"shape": [*grid.shape]}
    is_same_size = isinstance(image, torch.Tensor) and image.shape[2:] == grid.shape[1:3]
    if is_same_size and along < across:
        step = float((x[:, -1] - x[:, 0]).mean()) / (width - 1)
        aligned = bool(given["align_corners"])
        own, other = (2 / (width - 1), 2 / width) if aligned else (2 / width, 2 / (width - 1))
        if abs(step - other) < _NEAR * abs(own - other):
            return "other_corners", {"align_corners": aligned}
    return None


def _correlation(values: torch.Tensor, numbers: torch.Tensor) -> float:
    both = torch.stack([values, numbers])
    found = float(torch.corrcoef(both)[0, 1])
    return found if found == found else 0.0  # NaN, of equal values


def _spread(values: torch.Tensor) -> float:
    return float(values.max() - values.min())


def shrunk(frame: FrameType) -> Finding:
    """Return that the matrices of F.affine_grid are learned, and begin far from the identity."""
    theta = frame.f_locals["theta"]
    if not isinstance(theta, torch.Tensor) or not theta.requires_grad or theta.dim() != 3:
        return None
    if not _is_readable(theta):
        return None
    plain = theta.detach().float()
    size = plain[..., :-1].norm(dim=-1).mean()  # of the rows: how much of the image they read
    return ("shrunk", {"size": float(size)}) if float(size) < _SHRUNK else None


def _is_readable(tensor: torch.Tensor) -> bool:
    return not tensor.is_meta and 0 < tensor.numel() <= _LARGEST and tensor.is_floating_point()


LOOKS: dict[str, Callable[[FrameType], Finding]] = {
    "interpolate": resized,
    "grid_sample": sampled,
    "affine_grid": shrunk,
}
