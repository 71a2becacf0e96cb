r"""The model `GatedTCN`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.glu.html
Fault: F.glu splits the last dimension by default, which is the time of a [B, C, T] tensor, so
    steps t and t+T/2 gate each other.
Cause: glu.*(dim|axis|time|last|channel|wrong|halv|split)
    |(halv|split)\w*.*(time|length|sequence|last|wrong)|(time|length|sequence).*(halv|split)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedTCN(nn.Module):
    def __init__(self, cin=4, width=24, classes=5):
        super().__init__()
        self.inp = nn.Conv1d(cin, width, 3, padding=1)
        self.gate = nn.Conv1d(width, width, 3, padding=1)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = F.relu(self.inp(x))
        h = F.glu(self.gate(h))
        h = F.relu(self.mix(h))
        return self.head(h.mean(dim=-1))


torch.manual_seed(0)
model = GatedTCN()
example_inputs = (torch.randn(6, 4, 32),)
