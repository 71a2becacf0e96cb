"""Models that capture CUDA graphs, and the same hooks attached by hand in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from hookcli.catalogue.kinds import CATALOGUE

KINDS = [name for name, kind in CATALOGUE.items() if kind.needs_gpu]
OWN = {
    "cuda_graph_capture_start": "register_capture_start_hook",
    "cuda_graph_capture_end": "register_capture_end_hook",
    "cuda_graph_instantiate": "register_post_instantiate_hook",
    "cuda_graph_replay_start": "register_replay_start_hook",
    "cuda_graph_replay_end": "register_replay_end_hook",
    "cuda_graph_destroy": "register_destroy_callback",
}
ON_ALL = {
    "global_cuda_graph_capture_start": "register_graph_capture_start_hook",
    "global_cuda_graph_capture_end": "register_graph_capture_end_hook",
    "global_cuda_graph_instantiate": "register_graph_instantiate_hook",
    "global_cuda_graph_replay_start": "register_graph_replay_start_hook",
    "global_cuda_graph_replay_end": "register_graph_replay_end_hook",
    "global_cuda_graph_destroy": "register_graph_destroy_hook",
}


@dataclass
class Graphs:
    """Where graphs run, how one is captured, and the tables in which torch keeps their hooks."""

    device: str
    capture: Callable[[Any, Callable[[], Any]], None]
    tables: Callable[[Any], list[dict[int, Any]]]

    def x(self):
        return torch.ones(2, 4, device=self.device)

    def make(self, **how):
        return torch.cuda.CUDAGraph(**how)


class Captures(nn.Module):
    """A linear layer whose `scaled` captures a graph, launches it twice and drops it.

    `on_graph` gets the graph before its capture. With `keeps` the model keeps it.
    """

    def __init__(self, graphs, *, on_graph=lambda _: None, keeps=False, keep_graph=False):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(4, 3)
        self.scaled = Scaled(graphs, on_graph, keeps, keep_graph)
        self.to(graphs.device)

    def forward(self, x):
        return self.fc(self.scaled(x))


class Scaled(nn.Module):
    def __init__(self, graphs, on_graph, keeps, keep_graph):
        super().__init__()
        self.how = {"keep_graph": True} if keep_graph else {}
        self.graphs, self.on_graph, self.keeps, self.kept = graphs, on_graph, keeps, []

    def forward(self, x):
        graph, still = self.graphs.make(**self.how), x.detach().clone()
        self.on_graph(graph)
        self.graphs.capture(graph, lambda: still * 2)
        graph.replay()
        graph.replay()
        if self.keeps:
            self.kept.append(graph)
        return x * 2


def by_hand(graphs, wanted=tuple(KINDS), **how):
    """The kinds in the order in which their hooks fire in one forward, attached in plain PyTorch.

    Those of one graph are attached where the graph is made, which the model's author can do.
    """
    fired = []

    def noting(kind):
        return lambda *_: fired.append(kind)

    def on_graph(graph):
        for kind in wanted:
            if kind in OWN:
                getattr(graph, OWN[kind])(noting(kind))

    with ExitStack() as stack:
        for kind in wanted:
            if kind in ON_ALL:
                register = getattr(torch.cuda.graphs, ON_ALL[kind])
                stack.enter_context(register(noting(kind)))
        Captures(graphs, on_graph=on_graph, **how)(graphs.x())
    return fired
