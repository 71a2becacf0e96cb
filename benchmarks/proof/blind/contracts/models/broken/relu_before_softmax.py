r"""The model `Policy`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
Fault: The logits pass a ReLU before the softmax, so negative evidence is cut off and dead logits
    get no gradient.
Cause: relu.*(logit|softmax|before|last|final|output)
    |(logit|softmax|output)s?.*(relu|negative|non-?negative|clipp)|negative (logit|evidence)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, obs=10, hidden=32, actions=5):
        super().__init__()
        self.fc1 = nn.Linear(obs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, actions)

    def features(self, x):
        x = F.relu(self.fc1(x))
        return F.relu(self.fc2(x))

    def forward(self, x):
        h = self.features(x)
        logits = F.relu(self.fc3(h))
        return F.softmax(logits, dim=-1)


torch.manual_seed(0)
model = Policy()
example_inputs = (torch.randn(16, 10),)
