r"""Encoder that guesses the kind of interaction for each pair of moving particles.

Source: https://github.com/ethanfetaya/NRI/issues/25
Fault: After the transposition the last axis is the batch, so the softmax runs over the samples.
Cause: softmax .*(dim|axis|batch|samples?|over)|normalis\w* (over|along|across) .*(batch|samples?)
    |batch (dim|axis)|(mix|depend)\w* .*(batch|samples?)
Place: \bmy_softmax\b|\bsoft_max_1d\b
"""

import torch
from torch import nn
from torch.nn import functional as F


def my_softmax(input, axis=1):
    trans_input = input.transpose(axis, 0).contiguous()
    soft_max_1d = F.softmax(trans_input, dim=-1)  # here
    return soft_max_1d.transpose(axis, 0)


class MLP(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.fc1 = nn.Linear(n_in, n_hid)
        self.fc2 = nn.Linear(n_hid, n_hid)

    def forward(self, x):
        return F.elu(self.fc2(F.elu(self.fc1(x))))


class MLPEncoder(nn.Module):
    def __init__(self, steps=12, dims=4, n_hid=32, edge_types=2, atoms=5):
        super().__init__()
        off_diagonal = torch.ones(atoms, atoms) - torch.eye(atoms)
        receive, send = off_diagonal.nonzero(as_tuple=True)
        self.register_buffer("receive", receive)
        self.register_buffer("send", send)
        self.mlp1 = MLP(steps * dims, n_hid)
        self.mlp2 = MLP(2 * n_hid, n_hid)
        self.fc_out = nn.Linear(n_hid, edge_types)

    def forward(self, inputs):
        x = self.mlp1(inputs.flatten(2))
        edges = torch.cat([x[:, self.send], x[:, self.receive]], dim=2)
        logits = self.fc_out(self.mlp2(edges))
        return my_softmax(logits, -1)


def build():
    return MLPEncoder()


def example_inputs():
    return torch.randn(8, 5, 12, 4)
