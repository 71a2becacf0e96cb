"""Which input of a model has the tokens that are the labels of a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hookcli.models.nested import argument_leaves
from hookcli.training.non_finite.forward_call import ForwardCall

NLL = ("NllLossBackward0", "NllLoss2DBackward0")
_MOST = 1 << 18  # tokens in a batch
_SHIFTS = 4
_LEAST = 4  # tokens in a sequence
_PADDED = 0.3  # of the tokens
_ENDS = 0.8  # of the sequences
_PART = 0.5  # of the labels that are not ignored


@dataclass(frozen=True, slots=True)
class TokenMatch:
    """An input of a root whose tokens are the labels of a loss.

    The label at place j of a sequence is the token at place j + `shift`. `time` is the dimension of
    the input along which places are counted, `length` the number of labels in a sequence.
    """

    path: str
    time: int
    shift: int
    length: int


def rows_of(node: Any) -> torch.Tensor:
    """Return the log-probabilities that a loss got, a row for each label."""
    logs: torch.Tensor = node._saved_self
    if logs.dim() > 2:
        logs = logs.movedim(1, -1)
    return logs.reshape(-1, logs.shape[-1])


def matches_of(run: ForwardCall, labels: torch.Tensor, ignored: int) -> list[TokenMatch]:
    """Return the input whose tokens are these labels: by each dimension that may be the time.

    Labels that are not shifted do not tell which one it is.
    """
    known = labels != ignored
    if not _LEAST <= labels.numel() <= _MOST or float(known.float().mean()) < _PART:
        return []
    found: set[tuple[int, int, int]] = set()
    paths: dict[tuple[int, int, int], str] = {}
    for path, tokens, _ in argument_leaves(run.args, run.kwargs):
        if tokens.dim() != 2 or tokens.is_floating_point() or tokens.dtype is torch.bool:
            continue
        if tokens.device != labels.device or len(torch.unique(tokens)) <= 2:
            continue
        for time in (1, 0):
            size = labels.numel() // max(1, tokens.shape[1 - time])
            if size * tokens.shape[1 - time] != labels.numel() or size < _LEAST - 1:
                continue
            shape = (-1, size) if time else (size, -1)
            table, mask = labels.reshape(shape), known.reshape(shape)
            for shift in range(_SHIFTS):
                width = min(size, tokens.shape[time] - shift)
                if width < max(_LEAST - 1, size - shift):
                    continue
                given = tokens.narrow(time, shift, width)
                here, seen = table.narrow(time, 0, width), mask.narrow(time, 0, width)
                if bool(((given == here) | ~seen).all()):
                    found.add((time, shift, size))
                    paths.setdefault((time, shift, size), path)
    if len({shift for _, shift, _ in found}) > 1:  # sequences that repeat
        return []
    return [TokenMatch(paths[key], *key) for key in sorted(found, reverse=True)]


def padding_of(table: torch.Tensor, ignored: int | None = None) -> tuple[int, float] | None:
    """Return the token with which sequences end, and its share, if it looks like padding."""
    last = table[:, -1]
    token = int(last.mode().values)
    if token == ignored or table.shape[0] < 2:
        return None
    run = (table == token).flip(1).long().cumprod(1).sum(1)  # how often it ends a sequence
    share = float(run.sum()) / table.numel()
    many = float((run >= 2).float().mean())
    whole = bool((run == table.shape[1]).all())
    return (token, share) if share >= _PADDED and many >= _ENDS and not whole else None
