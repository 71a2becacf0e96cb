"""Coarse and fine labels with a penalty for pairs that contradict the hierarchy.

Source: https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6
Fault: the dependency penalty is computed from argmax classes, so it is a constant without a
    gradient.
Cause: argmax|differentiab|no gradient.*(penalty|dloss|dependency)|constant
Place: dloss|penalty|argmax|prev_lvl|current_lvl
"""

import torch
import torch.nn.functional as F
from torch import nn


class HierarchicalNet(nn.Module):
    def __init__(self, in_dim=10, n_super=2, n_sub=6, beta=0.8):
        super().__init__()
        self.beta = beta
        self.trunk = nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU())
        self.fc_super = nn.Linear(32, n_super)
        self.fc_sub = nn.Linear(32, n_sub)
        self.register_buffer("parent", torch.arange(n_sub) * n_super // n_sub)

    def dependency(self, super_logits, sub_logits):
        prev_lvl_pred = super_logits.argmax(dim=1)  # here
        current_lvl_pred = sub_logits.argmax(dim=1)  # here
        wrong = (self.parent[current_lvl_pred] != prev_lvl_pred).float()
        return (torch.exp(wrong) - 1).mean()

    def forward(self, x, y_super, y_sub):
        h = self.trunk(x)
        s, c = self.fc_super(h), self.fc_sub(h)
        lloss = F.cross_entropy(s, y_super) + F.cross_entropy(c, y_sub)
        dloss = self.dependency(s, c)
        return {"loss": lloss + self.beta * dloss, "dloss": dloss, "logits": c}


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randint(0, 2, (16,)),
        torch.randint(0, 6, (16,)),
    )
