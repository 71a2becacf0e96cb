r"""The model `TransferModel`.

Source: https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, n_in=20, dim=32):
        super().__init__()
        self.fc1 = nn.Linear(n_in, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


class TransferModel(nn.Module):
    def __init__(self, classes=5, scale=4.0):
        super().__init__()
        self.backbone = Backbone()
        for p in self.parameters():
            p.requires_grad = False
        self.head = nn.Linear(32, classes)
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        f = F.normalize(self.backbone(x), dim=-1)
        return self.scale * self.head(f)


torch.manual_seed(0)
model = TransferModel()
example_inputs = (torch.randn(8, 20),)
