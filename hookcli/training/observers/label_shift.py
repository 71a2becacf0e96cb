"""Which tokens the logits of a language model see, next to the tokens that are their labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch

from hookcli.engine.probes.trainability.loss_graph import nodes_behind
from hookcli.models import places
from hookcli.torch_private import disable_current_modes
from hookcli.training.backward import only_tensor
from hookcli.training.non_finite.find import obstacle_of
from hookcli.training.non_finite.forward_call import ForwardCall
from hookcli.training.non_finite.isolated import run_isolated
from hookcli.training.observers.observer import Observer, line_of
from hookcli.training.observers.token_match import NLL, TokenMatch, matches_of, rows_of
from hookcli.training.root_watch import RootWatch
from hookcli.training.script.own_imports import own_imports
from hookcli.training.script.watched_function import TorchCall
from hookcli.training.source.frame_source import user_frame

_LOOKS = 2  # of each line
_PATIENCE = 20.0  # seconds


class LabelShift(Observer):
    """Looks at the labels of cross entropy that are tokens of the input.

    Whether the logits depend on a token is seen in a copy of the process, in which the forward runs
    again with another token in its place.
    """

    kinds = ("label_shift",)
    before = {"backward": "backward"}  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._looks: dict[tuple[str, int] | None, int] = {}

    def backward(self, call: TorchCall) -> None:
        """Look at the losses of the first backward passes of a line."""
        line = line_of(call)
        looks = self._looks.get(line, 0)
        start = only_tensor(call.argument(0, "tensors"))
        if looks >= _LOOKS or start is None or start.numel() != 1:
            return
        self._looks[line] = looks + 1
        place = places.of_frame(user_frame(call.frame))
        with torch.no_grad(), disable_current_modes():
            found = self._found(start)
        shifts = {match.shift for _, _, matches, _ in found for match in matches}
        if not found or len(shifts) != 1:  # several heads predict several tokens
            return
        root, run, matches, rows = found[0]
        if obstacle_of(root.root, [run]) is not None:
            return
        result = run_isolated(lambda: _probed(root, run, matches, rows), patience=_PATIENCE)
        values = None if result is None else json.loads(result)
        if values is not None:
            self.facts.look("label_shift")
        if values is not None and values["how"]:
            self.facts.add(
                "label_shift", "", place, record=self.record_of(root.parameter_ids()), **values
            )

    def _found(
        self, start: torch.Tensor
    ) -> list[tuple[RootWatch, ForwardCall, list[TokenMatch], Any]]:
        """Return the losses whose labels are tokens of a root's input, with their logits."""
        found = []
        for node in nodes_behind(start):
            if node.name() not in NLL:
                continue
            try:
                rows, labels = rows_of(node), node._saved_target.flatten()
            except RuntimeError:  # what it saved was changed in place
                continue
            ignored = node._saved_ignore_index
            ignored = ignored - 2**64 if ignored >= 2**63 else ignored
            for root in self.seen.roots.values():
                if root.recent and not root.is_part:
                    run = root.recent[-1]
                    matches = matches_of(run, labels, ignored)
                    if matches:
                        found.append((root, run, matches, rows.detach()))
                        break
        return found


def _probed(
    root: RootWatch, run: ForwardCall, matches: Sequence[TokenMatch], rows: torch.Tensor
) -> bytes:
    with own_imports():
        from hookcli.training.non_finite.replay import unshare
        from hookcli.training.observers.token_probe import probe

    unshare(root.root)
    for match in matches:
        found = probe(root.root, run, match, rows)
        if found["how"] is not None:
            break
    return json.dumps(found).encode()
