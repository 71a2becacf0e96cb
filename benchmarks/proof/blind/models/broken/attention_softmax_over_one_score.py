"""A recurrent encoder of questions with additive attention over the words.

Source: https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2
Fault: the softmax is over the last dimension of size 1, all weights are 1 and attn gets no
    gradient.
Cause: softmax|(weights|attention).*(always|constant|all).*(1|one)
Place: attn
"""

import torch
import torch.nn.functional as F
from torch import nn


class EmbedVector(nn.Module):
    def __init__(self, emb=12, hidden=10, out=6):
        super().__init__()
        self.gru = nn.GRU(emb, hidden, bidirectional=True)
        self.attn = nn.Linear(2 * hidden + emb, 1)
        self.hidden2tag = nn.Linear(2 * hidden, out)

    def forward(self, x):
        outputs, _ = self.gru(x)
        attn_weights = F.softmax(self.attn(torch.cat((x, outputs), 2)), dim=2)  # here
        summary = (attn_weights * outputs).sum(0)
        return self.hidden2tag(summary)


def example_inputs():
    return (torch.randn(9, 4, 12),)
