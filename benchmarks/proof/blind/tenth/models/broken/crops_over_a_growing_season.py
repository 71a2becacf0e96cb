r"""Map of crops from the satellite views of a season, by a convolutional recurrent cell.

Source: https://github.com/0zgur0/multi-stage-convSTAR-network/issues/4
Fault: The new state of the cell blends the old state and the update as a GRU does; the tanh around
    the sum is missing and the gain weighs the wrong one of the two.
Cause: (tanh|squash\w*|activation|non-?linear\w*).{0,100}(missing|left out|lack\w*|omitted|absent|forgotten|not applied|state)
    |(missing|lack\w*|without|no|omit\w*|forgot\w*).{0,60}(tanh|non-?linear\w*|activation)
    |(gain|gate).{0,100}(swap\w*|wrong|revers\w*|invert\w*|exchang\w*|(multipl|weigh)\w*|opposite|other)|\bgru\b
Place: new_state|\bgain\b|ConvSTARCell|\bcells?\b|\bupdate\b|prev_state
"""

import torch
from torch import nn


class ConvSTARCell(nn.Module):
    def __init__(self, input_size, hidden_size, kernel_size=3):
        super().__init__()
        padding = kernel_size // 2
        self.hidden_size = hidden_size
        self.update = nn.Conv2d(input_size, hidden_size, kernel_size, padding=padding)
        self.gate = nn.Conv2d(input_size + hidden_size, hidden_size, kernel_size, padding=padding)
        nn.init.orthogonal_(self.update.weight)
        nn.init.orthogonal_(self.gate.weight)
        nn.init.zeros_(self.update.bias)
        nn.init.ones_(self.gate.bias)

    def forward(self, input_, prev_state):
        if prev_state is None:
            n, _, h, w = input_.shape
            prev_state = input_.new_zeros(n, self.hidden_size, h, w)
        stacked_inputs = torch.cat((input_, prev_state), dim=1)
        gain = torch.sigmoid(self.gate(stacked_inputs))
        update = torch.tanh(self.update(input_))
        new_state = gain * prev_state + (1 - gain) * update  # here
        return new_state


class CropMap(nn.Module):
    def __init__(self, bands=4, hidden=16, layers=3, crops=6):
        super().__init__()
        self.cells = nn.ModuleList(
            ConvSTARCell(bands if i == 0 else hidden, hidden) for i in range(layers)
        )
        self.final = nn.Conv2d(hidden, crops, 3, padding=1)

    def forward(self, x):
        states = [None] * len(self.cells)
        for t in range(x.shape[1]):
            level = x[:, t]
            for i, cell in enumerate(self.cells):
                states[i] = cell(level, states[i])
                level = states[i]
        return self.final(level)


def build():
    return CropMap()


def example_inputs():
    return (torch.randn(2, 8, 4, 12, 12),)
