"""A mixture of experts whose routing depends on the data.

How many tokens an expert gets is known only once the router has run, so the model needs numbers and
cannot run on fake tensors. Every expert is called once per forward, be it with no token at all.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RoutedOutput(NamedTuple):
    """The output of the layer: new hidden states, and a loss that is 1 if the load is balanced."""

    hidden: Tensor
    balance_loss: Tensor


class Expert(nn.Module):
    """A feed-forward network for the tokens that are routed to it."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.activation = nn.GELU()
        self.down = nn.Linear(inner, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map tokens (N, width) to (N, width), where N may be 0."""
        return self.down(self.activation(self.up(tokens)))


class MixtureOfExperts(nn.Module):
    """Route each token to its top-k experts and add their weighted outputs."""

    def __init__(self, width: int = 16, inner: int = 32, experts: int = 4, top_k: int = 2) -> None:
        super().__init__()
        self.top_k = top_k
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, inner) for _ in range(experts))

    def forward(self, hidden: Tensor) -> RoutedOutput:
        """Map hidden states (B, T, width) to the same shape, with the balance loss."""
        tokens = self.norm(hidden).flatten(0, 1)
        probabilities = self.router(tokens).softmax(dim=-1)
        weights, chosen = probabilities.topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)

        mixed = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            rows, ranks = (chosen == index).nonzero(as_tuple=True)
            answers = expert(tokens[rows]) * weights[rows, ranks].unsqueeze(-1)
            mixed = mixed.index_add(0, rows, answers)

        load = F.one_hot(chosen, len(self.experts)).float().mean(dim=(0, 1))
        balance_loss = len(self.experts) * (load * probabilities.mean(dim=0)).sum()
        return RoutedOutput(hidden + mixed.view_as(hidden), balance_loss)


def example_inputs() -> tuple[Tensor]:
    """Return two sequences of 6 hidden states: 12 tokens, with 24 assignments to experts."""
    return (torch.randn(2, 6, 16),)


# Parameters
#   norm      16+16                                                  32
#   router    16*4                                                   64
#   expert    up 16*32 + 32 = 544, down 32*16 + 16 = 528           1072
# A None in a shape is the number of tokens that went to the expert: any number from 0 to 12.
EXPECTED = {
    "type": "MixtureOfExperts",
    "parameters": 4384,  # 32 + 64 + 4 * 1072
    "trainable_parameters": 4384,
    "buffers": 0,
    "calls": [
        (
            "",
            "MixtureOfExperts",
            0,
            0,
            [("[0]", (2, 6, 16))],
            [(".hidden", (2, 6, 16)), (".balance_loss", ())],
        ),
        ("norm", "LayerNorm", 0, 32, [("[0]", (2, 6, 16))], [("", (2, 6, 16))]),
        ("router", "Linear", 0, 64, [("[0]", (12, 16))], [("", (12, 4))]),
        ("experts.0", "Expert", 0, 0, [("[0]", (None, 16))], [("", (None, 16))]),
        ("experts.0.up", "Linear", 0, 544, [("[0]", (None, 16))], [("", (None, 32))]),
        ("experts.0.activation", "GELU", 0, 0, [("[0]", (None, 32))], [("", (None, 32))]),
        ("experts.0.down", "Linear", 0, 528, [("[0]", (None, 32))], [("", (None, 16))]),
        ("experts.1", "Expert", 0, 0, [("[0]", (None, 16))], [("", (None, 16))]),
        ("experts.1.up", "Linear", 0, 544, [("[0]", (None, 16))], [("", (None, 32))]),
        ("experts.1.activation", "GELU", 0, 0, [("[0]", (None, 32))], [("", (None, 32))]),
        ("experts.1.down", "Linear", 0, 528, [("[0]", (None, 32))], [("", (None, 16))]),
        ("experts.2", "Expert", 0, 0, [("[0]", (None, 16))], [("", (None, 16))]),
        ("experts.2.up", "Linear", 0, 544, [("[0]", (None, 16))], [("", (None, 32))]),
        ("experts.2.activation", "GELU", 0, 0, [("[0]", (None, 32))], [("", (None, 32))]),
        ("experts.2.down", "Linear", 0, 528, [("[0]", (None, 32))], [("", (None, 16))]),
        ("experts.3", "Expert", 0, 0, [("[0]", (None, 16))], [("", (None, 16))]),
        ("experts.3.up", "Linear", 0, 544, [("[0]", (None, 16))], [("", (None, 32))]),
        ("experts.3.activation", "GELU", 0, 0, [("[0]", (None, 32))], [("", (None, 32))]),
        ("experts.3.down", "Linear", 0, 528, [("[0]", (None, 32))], [("", (None, 16))]),
    ],
    "uncalled": [],
    "shared": {},
}
