"""A mixture of experts balanced without an auxiliary loss.

Source: https://github.com/pytorch/torchtitan/issues/1246
Odd: the bias of the router is a buffer that moves by a rule; gradients go through the gates.
"""

import torch
import torch.nn.functional as F
from torch import nn


class AuxFreeMoE(nn.Module):
    def __init__(self, dim=8, experts=4, k=2, speed=1e-3):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.register_buffer("expert_bias", torch.zeros(experts))
        self.k, self.speed = k, speed

    def forward(self, x):
        scores = torch.sigmoid(self.gate(x))
        idx = (scores + self.expert_bias).topk(self.k, dim=-1).indices
        if self.training:
            load = F.one_hot(idx, len(self.experts)).sum((0, 1)).float()
            self.expert_bias += self.speed * torch.sign(load.mean() - load)
        picked = torch.zeros_like(scores).scatter(1, idx, scores.gather(1, idx))
        weights = picked / picked.sum(1, keepdim=True)
        outs = torch.stack([e(x) for e in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outs).sum(1)


def example_inputs():
    return (torch.randn(32, 8),)
