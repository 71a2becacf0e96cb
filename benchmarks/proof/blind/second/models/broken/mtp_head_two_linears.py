r"""A trajectory head over image features and the state of the agent: two layers, modes and logits.

Source: https://github.com/nutonomy/nuscenes-devkit/issues/728
Fault: there is no activation between the two linear layers, so together they are one linear map and
    the hidden layer adds nothing.
Cause: activation|non.?linear|\bReLU\b|(one|single) linear|linear map
Place: \bfc1\b|\bfc2\b
"""

import torch
from torch import nn


class MTP(nn.Module):
    """Multiple-trajectory prediction."""

    def __init__(self, num_modes=3, seconds=6, frequency=2, n_hidden=128):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=3),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.num_modes = num_modes
        per_mode = int(seconds * frequency) * 2
        self.fc1 = nn.Linear(128 + 3, n_hidden)
        self.fc2 = nn.Linear(n_hidden, num_modes * per_mode + num_modes)

    def forward(self, image, agent_state):
        features = torch.cat([self.backbone(image), agent_state], dim=1)
        predictions = self.fc2(self.fc1(features))  # here
        logits = predictions[:, -self.num_modes :]
        if not self.training:
            logits = logits.softmax(-1)
        return torch.cat([predictions[:, : -self.num_modes], logits], 1)


def example_inputs():
    return torch.randn(4, 3, 64, 64), torch.randn(4, 3)
