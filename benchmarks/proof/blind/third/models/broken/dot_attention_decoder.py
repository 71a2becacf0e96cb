r"""Sequence decoder step that attends over an encoder memory with dot scores.

Source: https://github.com/PetrochukM/PyTorch-NLP/issues/2
Fault: The softmax of the attention scores runs over the batch axis instead of the memory axis.
Cause: softmax.*(batch|dim(ension)?[ =]*0|axis[ =]*0|wrong (dim|axis))
    |(mix|depend)\w* .*(samples|batch)
Place: attend|attention|softmax|AttentionDecoder|forward
"""

import torch
from torch import nn


class AttentionDecoder(nn.Module):
    def __init__(self, hidden=24, classes=9):
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.attend = nn.Softmax(dim=0)  # here
        self.merge = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, state, memory):
        scores = torch.bmm(self.query(state).unsqueeze(1), memory.transpose(1, 2)).squeeze(1)
        weights = self.attend(scores)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        return self.out(torch.tanh(self.merge(torch.cat([context, state], dim=1))))


def build():
    return AttentionDecoder()


def example_inputs():
    return torch.randn(6, 24), torch.randn(6, 11, 24)
