r"""The model `TransferModel`.

Source: https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html
Fault: The loop that freezes the backbone runs over all parameters after the new head is made, so
    the head cannot learn either.
Cause: (head|classif\w*|all|last|final|new|output).*(froz|freez|not train|requires_grad)
    |(froz|freez)\w*.*(head|all|everything|classif|output|last|new|too)|no gradient
    |nothing (left )?to train|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
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
        self.head = nn.Linear(32, classes)
        for p in self.parameters():
            p.requires_grad = False
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x):
        f = F.normalize(self.backbone(x), dim=-1)
        return self.scale * self.head(f)


torch.manual_seed(0)
model = TransferModel()
example_inputs = (torch.randn(8, 20),)
