r"""Values of the actions in a paddle game: the worth of the state and the gain of each action.

Source: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/6
Fault: The mean of the advantages runs over the actions and the batch together, so the values of
    one state depend on the other states.
Cause: (mean\w*|average\w*).{0,140}(batch|dim\b|axis|samples?|other states|scalar|keepdim|whole
    |entire|every|all)
    |(batch|samples?|states?|rows?).{0,100}(\bmean\b|average|adv\w*)
Place: \bmean\b|\badv\w*|fc_adv
"""

import torch
from torch import nn


class PaddleValues(nn.Module):
    def __init__(self, frames=4, actions=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(frames, 16, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3),
            nn.ReLU(),
        )
        self.fc_adv = nn.Sequential(nn.Linear(32 * 9, 64), nn.ReLU(), nn.Linear(64, actions))
        self.fc_val = nn.Sequential(nn.Linear(32 * 9, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        x = x.float() / 255
        conv_out = self.conv(x).flatten(1)
        val = self.fc_val(conv_out)
        adv = self.fc_adv(conv_out)
        return val + adv - adv.mean()  # here


def build():
    return PaddleValues()


def example_inputs():
    frames = torch.zeros(8, 4, 52, 52, dtype=torch.uint8)
    for i in range(8):
        row, col = int(torch.randint(4, 46, ())), int(torch.randint(4, 30, ()))
        for j in range(4):
            frames[i, j, row : row + 3, col + 4 * j : col + 4 * j + 3] = 255
        frames[i, :, row - 4 : row + 6, 48:50] = 180
    return (frames,)
