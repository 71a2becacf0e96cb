r"""Double attention block that gathers and distributes features over space.

Source: https://github.com/gjylt/DoubleAttentionNet/issues/3
Fault: The attention maps are normalised over the channels, not over the places they sum.
Cause: softmax.*(channel|wrong (dim|axis)|dim(ension)?[ =]*1|not .*(space|spatial|position))
    |not sum to (1|one)
Place: softmax|attention_maps|forward|DoubleAttention
"""

import torch
from torch import nn


class DoubleAttention(nn.Module):
    def __init__(self, channels=16, c_m=8, c_n=6):
        super().__init__()
        self.convA = nn.Conv2d(channels, c_m, 1)
        self.convB = nn.Conv2d(channels, c_n, 1)
        self.convV = nn.Conv2d(channels, c_n, 1)
        self.reconstruct = nn.Conv2d(c_m, channels, 1)

    def forward(self, x):
        A = self.convA(x).flatten(2)
        attention_maps = torch.softmax(self.convB(x).flatten(2), dim=1)  # here
        attention_vectors = torch.softmax(self.convV(x).flatten(2), dim=1)
        descriptors = A @ attention_maps.transpose(1, 2)
        out = (descriptors @ attention_vectors).unflatten(2, x.shape[2:])
        return x + self.reconstruct(out)


def build():
    return DoubleAttention()


def example_inputs():
    return torch.randn(3, 16, 9, 9)
