"""Runs a forward again with another token at one place, in a copy of the process."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from hookcli.engine.neutrality.model_state import room_for_hooks
from hookcli.engine.probes.rerun import copied
from hookcli.engine.probes.trainability.loss_graph import nodes_behind
from hookcli.models.batch import Batch, map_batch
from hookcli.models.converted.compiled import run_eagerly
from hookcli.models.eager import EagerModel
from hookcli.models.nested import argument_leaves, leaves
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.observers.token_match import NLL, TokenMatch, rows_of

_CLOSE = 1e-3  # between the logits of the training and those of the repeated forward
_CHANGED = 1e-5


def probe(
    root: nn.Module, run: ForwardCall, match: TokenMatch, rows: torch.Tensor
) -> dict[str, Any]:
    """Return what is wrong with the labels, by what the logits see.

    `how` is "copied" if the label of each place is the last token that it sees, "skipped" if it is
    `gap` tokens after that, "seen" if a model that is not causal sees the label; else None.
    """
    nothing = {"how": None}
    base = _Rows(root, run, match, rows)
    if base.rows is None:
        return nothing
    middle = match.shift + match.length // 2
    one, two = _changed_by(base, middle - 1), _changed_by(base, middle)
    if one is None or two is None:
        return nothing
    (before, own_before, after), (begin, own, later) = one, two
    if begin - before == 1 and begin > 0:  # causal
        gap = match.shift - (middle - begin)
        if gap >= 2:
            return {"how": "skipped", "gap": gap}
        return {"how": "copied", "gap": gap} if gap <= 0 and after and later else nothing
    if match.shift >= 1 and own and own_before and begin == before == 0:
        return {"how": "seen", "gap": 0}
    return nothing


def _changed_by(base: _Rows, place: int) -> tuple[int, bool, bool] | None:
    """Return what another token at a place changes: the first place, its own, and later ones.

    Its own place is that whose label it is.
    """
    other = base.with_other_token(place)
    if other is None or base.rows is None or other.shape != base.rows.shape:
        return None
    moved = (other - base.rows).abs().amax(-1) > _CHANGED * base.rows.abs().amax()
    changed = base.by_place(moved).any(0)
    where = changed.nonzero().flatten().tolist()
    if not where:
        return None
    own = place - base.match.shift
    return where[0], bool(changed[own]), len(where) > 1


class _Rows:
    """The log-probabilities of one forward, a row for each label."""

    def __init__(
        self, root: nn.Module, run: ForwardCall, match: TokenMatch, rows: torch.Tensor
    ) -> None:
        self._model, self._run, self.match = EagerModel(root), run, match
        self._wanted = rows
        self._offset: tuple[int, int] | None = None  # of an output: its number, and the place
        self.rows = self._same(self._forward(None))

    def with_other_token(self, place: int) -> torch.Tensor | None:
        """Return the rows if one place of each sequence has another token."""
        return self._pick(self._forward(place))

    def by_place(self, rows: torch.Tensor) -> torch.Tensor:
        """Return values of rows as a table: sequences, places."""
        if self.match.time == 1:
            return rows.reshape(-1, self.match.length)
        return rows.reshape(self.match.length, -1).t()

    def _forward(self, place: int | None) -> Any:
        batch = copied(Batch(self._run.args, self._run.kwargs))
        if place is not None:
            tensors = argument_leaves(batch.args, batch.kwargs)
            tokens = next(tensor for path, tensor, _ in tensors if path == self.match.path)
            batch = map_batch(batch, lambda t: self._replaced(t, place) if t is tokens else t)
        self._run.generators.restore()
        with run_eagerly(), room_for_hooks(), torch.enable_grad(), self._run.autocast.again():
            return self._model.call(batch.args, batch.kwargs)

    def _replaced(self, tokens: torch.Tensor, place: int) -> torch.Tensor:
        """Return the tokens with the next larger one that occurs at this place."""
        known = torch.unique(tokens)
        now = tokens.select(self.match.time, place)
        following = (torch.searchsorted(known, now.contiguous()) + 1) % len(known)
        new = tokens.clone()
        new.select(self.match.time, place).copy_(known[following])
        return new

    def _same(self, output: Any) -> torch.Tensor | None:
        """Return the rows of the first forward; None if they are not those of the training."""
        inside = self._of_loss(output)
        if inside is not None:
            return inside if self._is_close(inside) else None
        for number, tensor in enumerate(self._outputs(output)):
            if tensor.dim() != 3 or tensor.shape[-1] != self._wanted.shape[-1]:
                continue
            for offset in range(tensor.shape[self.match.time] - self.match.length + 1):
                self._offset = number, offset
                picked = self._pick(output)
                if picked is not None and self._is_close(picked):
                    return picked
        self._offset = None
        return None

    def _pick(self, output: Any) -> torch.Tensor | None:
        if self._offset is None:
            return self._of_loss(output)
        number, offset = self._offset
        outputs = self._outputs(output)
        if number >= len(outputs):
            return None
        part = outputs[number].narrow(self.match.time, offset, self.match.length)
        return part.float().log_softmax(-1).reshape(-1, part.shape[-1])

    def _of_loss(self, output: Any) -> torch.Tensor | None:
        """Return the rows of a loss that the root computes itself."""
        for tensor in self._outputs(output):
            for node in nodes_behind(tensor) if tensor.numel() == 1 else ():
                if node.name() in NLL:
                    return rows_of(node).detach().float()
        return None

    def _is_close(self, rows: torch.Tensor) -> bool:
        wanted = self._wanted.float()
        return rows.shape == wanted.shape and torch.allclose(rows, wanted, rtol=_CLOSE, atol=_CLOSE)

    def _outputs(self, output: Any) -> list[torch.Tensor]:
        """Return the tensors of an output; those of three dimensions also with classes at the end.

        Classes may be dimension 1, as cross_entropy takes them.
        """
        tensors = [tensor for _, tensor, _ in leaves(output)]
        classes = self._wanted.shape[-1]
        turned = [t.movedim(1, -1) for t in tensors if t.dim() == 3 and t.shape[1] == classes]
        return [*tensors, *turned]
