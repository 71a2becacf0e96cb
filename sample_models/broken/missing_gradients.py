"""A classifier with three parts that do not learn: a detached gate, a zero scale, an unused head.

`hookcli grads sample_models/broken/missing_gradients.py` shows which, and why.
"""

import torch
from torch import Tensor, nn


class Classifier(nn.Module):
    """Encode 8 features, with a gate and a residual branch, and classify them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(8, 16)
        self.gate = nn.Linear(16, 16)
        self.residual = nn.Linear(16, 16)
        self.scale = nn.Parameter(torch.zeros(1))
        self.head = nn.Linear(16, 3)
        self.aux_head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, 8) to logits (B, 3)."""
        hidden = torch.relu(self.encoder(x))
        hidden = hidden * torch.sigmoid(self.gate(hidden)).detach()
        hidden = hidden + self.scale * self.residual(hidden)
        return self.head(hidden)


def example_inputs() -> tuple[Tensor]:
    """Return a batch of two."""
    return (torch.randn(2, 8),)
