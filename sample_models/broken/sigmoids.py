"""A deep classifier that does not learn: thirty sigmoids, each of which shrinks the gradient.

The first line of `hookcli grads sample_models/broken/sigmoids.py` says so.
"""

import torch
from torch import Tensor, nn


class DeepClassifier(nn.Module):
    """Thirty hidden layers with sigmoids, and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        layers = [m for _ in range(30) for m in (nn.Linear(16, 16), nn.Sigmoid())]
        self.hidden = nn.Sequential(*layers)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, 16) to logits (B, 3)."""
        return self.head(self.hidden(x))


def example_inputs() -> tuple[Tensor]:
    """Return a batch of four."""
    return (torch.randn(4, 16),)
