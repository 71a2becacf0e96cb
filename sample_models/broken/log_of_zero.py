"""A classifier with a NaN, from the logarithm of a share that can be zero.

`hookcli check sample_models/broken/log_of_zero.py` names the first layer that produces it.
"""

import torch
from torch import Tensor, nn


class LogShare(nn.Module):
    """The logarithm of each class's share of all activations."""

    def forward(self, x: Tensor) -> Tensor:
        """Map scores (B, C) to logarithms (B, C)."""
        x = torch.relu(x)
        return torch.log(x / x.sum(dim=1, keepdim=True))


class Classifier(nn.Module):
    """Encode 8 features and classify them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.log_share = LogShare()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, 8) to logits (B, 3)."""
        return self.head(self.log_share(self.encoder(x)))


def example_inputs() -> tuple[Tensor]:
    """Return a batch of two."""
    return (torch.randn(2, 8),)
