"""Multiple trajectory prediction from an image and the state of the agent.

Source: https://github.com/nutonomy/nuscenes-devkit/issues/728
Fault: two linear layers follow each other with nothing between, they collapse to one linear map.
Cause: activation|non.?linear|relu|collapse|linear.*linear
Place: fc1|fc2
"""

import torch
from torch import nn


class MTP(nn.Module):
    def __init__(self, num_modes=2, steps=6, n_hidden_layers=64):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )
        self.fc1 = nn.Linear(32 + 3, n_hidden_layers)
        self.fc2 = nn.Linear(n_hidden_layers, num_modes * steps * 2 + num_modes)
        self.num_modes = num_modes

    def forward(self, image, agent_state):
        features = torch.cat([self.backbone(image), agent_state], dim=1)
        predictions = self.fc2(self.fc1(features))  # here
        return predictions[:, : -self.num_modes], predictions[:, -self.num_modes :]


def example_inputs():
    return (
        torch.randn(4, 3, 16, 16),
        torch.randn(4, 3),
    )
