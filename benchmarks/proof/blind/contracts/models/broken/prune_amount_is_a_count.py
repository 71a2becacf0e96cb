r"""Half of the weights of the hidden layers are removed.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.l1_unstructured.html
Fault: An integer amount prunes that number of weights (50 of 4096), not 50 percent; a fraction
    needs a float.
Cause: prun\w*|amount|sparsit|percent|fraction|count|integer
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune


class SparseNet(nn.Module):
    """Half of the weights of the hidden layers are removed."""

    def __init__(self, n_in=32, hidden=64, classes=6):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)
        self.sparsify(50)

    def sparsify(self, amount):
        for layer in (self.fc1, self.fc2):
            prune.l1_unstructured(layer, name="weight", amount=amount)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
model = SparseNet()
example_inputs = (torch.randn(8, 32),)
