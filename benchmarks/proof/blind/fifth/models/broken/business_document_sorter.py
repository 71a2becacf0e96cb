r"""Deep stack of dense layers that sorts business documents by their word statistics.

Source: https://datafield.dev/aibook/part-03/chapter-12/case-study-01.html
Fault: Sigmoids after each of nine hidden layers let the gradients of the first layers vanish.
Cause: sigmoid\w*|vanish\w*|saturat\w*|(first|early) layers? .*gradient
    |gradients? .*(first|early|vanish|die)|activation
"""

from itertools import pairwise

import torch
from torch import nn


class DocumentClassifier(nn.Module):
    """A deep MLP for document classification.

    Args:
        input_dim: Dimension of TF-IDF features.
        num_classes: Number of document categories.
    """

    def __init__(self, input_dim: int = 300, num_classes: int = 20) -> None:
        super().__init__()
        sizes = [input_dim, 128, 128, 96, 96, 64, 64, 48, 48, 32]
        blocks: list[nn.Module] = []
        for before, after in pairwise(sizes):
            blocks.append(nn.Linear(before, after))
            blocks.append(nn.Sigmoid())  # here
        self.layers = nn.Sequential(*blocks)
        self.head = nn.Linear(sizes[-1], num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


def build():
    return DocumentClassifier()


def example_inputs():
    return torch.nn.functional.normalize(torch.rand(32, 300) * (torch.rand(32, 300) < 0.1), dim=1)
