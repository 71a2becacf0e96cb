"""The model of the examples in docs/hooks: two blocks and a linear layer."""

import numpy as np
import torch
from torch import Tensor, nn


class Block(nn.Module):
    """A convolution, a batch norm and a ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 4, kernel_size=3, padding=1)
        self.norm1 = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, channels, H, W) to (B, 4, H, W)."""
        return torch.relu(self.norm1(self.conv1(x)))


class Net(nn.Module):
    """Classify images of one channel into three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer1 = Block(1)
        self.layer2 = Block(4)
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Map images (B, 1, H, W) to logits (B, 3)."""
        return self.fc(self.layer2(self.layer1(x)).mean(dim=(2, 3)))

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the class of each image."""
        return self(torch.from_numpy(images)).argmax(dim=1).numpy()


def example_inputs() -> tuple[Tensor]:
    """Return a batch of two."""
    return (torch.randn(2, 1, 8, 8),)
