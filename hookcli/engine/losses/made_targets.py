"""Makes up targets that fit an output, for losses that are given none. The seed decides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from hookcli.spec.losses import MadeTarget

CTC_PARTS = ("targets", "input_lengths", "target_lengths")


def made_target(
    kind: MadeTarget, tensors: list[torch.Tensor], options: Mapping[str, Any], seed: int
) -> Any:
    """Return a target for a loss of these tensors, on their device."""
    generator = torch.Generator().manual_seed(seed)
    made = _MAKERS[kind](tensors[0], options, generator)
    device = tensors[0].device
    if isinstance(made, dict):
        return {name: part.to(device) for name, part in made.items()}
    return made.to(device)


def complete_sequences(output: torch.Tensor, target: Any) -> dict[str, torch.Tensor] | None:
    """Return the three parts of a target of CTC; None if these are not the parts of one.

    Without lengths, every sequence has the length of its tensor: `output` is [T, N, C] or [T, C],
    the targets are [N, S] or [S].
    """
    if isinstance(target, torch.Tensor):
        lengths = output.shape[1:-1]
        steps, size = output.shape[0], target.shape[-1] if target.dim() else 0
        return {
            "targets": target,
            "input_lengths": torch.full(lengths, steps),
            "target_lengths": torch.full(lengths, size),
        }
    if isinstance(target, Mapping) and set(target) == set(CTC_PARTS):
        return dict(target)
    if isinstance(target, tuple | list) and len(target) == len(CTC_PARTS):
        return dict(zip(CTC_PARTS, target, strict=True))
    return None


def _draw(low: int, high: int, shape: Any, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(low, max(high, low + 1), tuple(shape), generator=generator)


def _classes(
    output: torch.Tensor, options: Mapping[str, Any], generator: torch.Generator
) -> torch.Tensor:
    """Return integers below the number of classes, dimension 1 of the output, or 0 if it has one.

    None of them is `ignore_index`.
    """
    sizes = output.shape
    dim = 1 if output.dim() > 1 else 0
    count = sizes[dim] if sizes else 1
    shape = (*sizes[:dim], *sizes[dim + 1 :])
    return _without(options.get("ignore_index", -100), count, shape, generator)


def _without(left_out: Any, count: int, shape: Any, generator: torch.Generator) -> torch.Tensor:
    """Return integers from 0 to count - 1 except one."""
    if isinstance(left_out, int) and 0 <= left_out < count and count > 1:
        drawn = _draw(0, count - 1, shape, generator)
        return drawn + (drawn >= left_out)
    return _draw(0, count, shape, generator)


def _normal(output: torch.Tensor, _: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(output.shape, generator=generator).to(output.dtype)


def _binary(output: torch.Tensor, _: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    return _draw(0, 2, output.shape, generator).to(output.dtype)


def _signs(output: torch.Tensor, _: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    return (_draw(0, 2, output.shape, generator) * 2 - 1).to(output.dtype)


def _pair_signs(
    output: torch.Tensor, options: Mapping[str, Any], generator: torch.Generator
) -> torch.Tensor:
    """Return a sign for each pair of vectors [N, D] or [D]."""
    return _signs(output[..., 0], options, generator)


def _counts(output: torch.Tensor, _: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    return _draw(0, 5, output.shape, generator).to(output.dtype)


def _distribution(
    output: torch.Tensor, options: Mapping[str, Any], generator: torch.Generator
) -> torch.Tensor:
    """Return probabilities over dimension 1 of the output, or 0; with log_target their logs."""
    drawn = torch.randn(output.shape, generator=generator)
    if not output.dim():
        return drawn.to(output.dtype)
    dim = 1 if output.dim() > 1 else 0
    logs = torch.log_softmax(drawn, dim)
    return (logs if options.get("log_target") else logs.exp()).to(output.dtype)


def _label_lists(
    output: torch.Tensor, _: Mapping[str, Any], generator: torch.Generator
) -> torch.Tensor:
    """Return [N, C] or [C] with one class of each sample, and -1 for the end of the list."""
    target = torch.full(output.shape, -1)
    if output.dim() and output.shape[-1]:
        target[..., 0] = _draw(0, output.shape[-1], output.shape[:-1], generator)
    return target


def _sequences(
    output: torch.Tensor, options: Mapping[str, Any], generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Return targets for log probabilities [T, N, C]: half as long, so that repeats fit too."""
    steps, count = output.shape[0] if output.dim() else 0, output.shape[-1] if output.dim() else 1
    shape = (*output.shape[1:-1], max(1, steps // 2))
    drawn = _without(options.get("blank", 0), count, shape, generator)
    return complete_sequences(output, drawn) or {}


_Maker = Callable[[torch.Tensor, Mapping[str, Any], torch.Generator], Any]
_MAKERS: dict[MadeTarget, _Maker] = {
    "classes": _classes,
    "normal": _normal,
    "binary": _binary,
    "signs": _signs,
    "pair_signs": _pair_signs,
    "counts": _counts,
    "distribution": _distribution,
    "label_lists": _label_lists,
    "sequences": _sequences,
}
