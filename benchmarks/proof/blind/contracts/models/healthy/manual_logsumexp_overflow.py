r"""The model `EnergyClassifier`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class EnergyClassifier(nn.Module):
    def __init__(self, n_in=12, hidden=48, classes=6):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def logits(self, x):
        h = F.relu(self.fc1(x))
        h = F.relu(self.fc2(h))
        return self.fc3(h)

    def forward(self, x):
        s = self.logits(x)
        energy = torch.logsumexp(s, dim=1)
        return s - energy.unsqueeze(1), -energy


def make_counts(n=8, n_in=12):
    return torch.randint(0, 4000, (n, n_in)).float()


torch.manual_seed(0)
model = EnergyClassifier()
example_inputs = (make_counts(),)
