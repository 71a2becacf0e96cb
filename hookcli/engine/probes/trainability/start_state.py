"""The values of a model before the run, if its optimizer changes them and probes need them."""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy

from hookcli.engine.watcher import Watcher
from hookcli.memory import available
from hookcli.models.model import Model


class StartState(Watcher):
    """Copies parameters and buffers when the run begins, if there is memory for it."""

    def __init__(self) -> None:
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    def begin(self, model: Model) -> None:
        """Copy the values."""
        infos = [i for i in (*model.parameters(), *model.buffers()) if not is_lazy(i.tensor)]
        free = available()
        size = sum(info.tensor.numel() * info.tensor.element_size() for info in infos)
        if free is None or size <= free // 2:
            self._copies = [(info.tensor, info.tensor.detach().clone()) for info in infos]

    def restore(self) -> None:
        """Give all tensors the values that they had before the run, and free the copies."""
        for tensor, before in self._copies:
            if tensor.shape == before.shape:
                tensor.data.copy_(before)
        self._copies = []
