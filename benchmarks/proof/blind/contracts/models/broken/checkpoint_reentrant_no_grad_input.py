r"""The model `SavingNet`.

Source: https://docs.pytorch.org/docs/stable/checkpoint.html
Fault: checkpoint with use_reentrant=True gets an input that does not require grad, so the
    parameters of the checkpointed blocks get no gradient.
Cause: reentrant|checkpoint.*(gradient|grad|input)|no gradient|without gradient
    |gradient.*(none|missing|lost)|requires_grad|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))))


class SavingNet(nn.Module):
    def __init__(self, width=16, classes=5):
        super().__init__()
        self.stage1 = Stage(3, width)
        self.stage2 = Stage(width, 2 * width)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = checkpoint(self.stage1, x, use_reentrant=True)
        x = checkpoint(self.stage2, x, use_reentrant=True)
        return self.head(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = SavingNet()
example_inputs = (torch.randn(4, 3, 24, 24),)
