r"""Policy for a grid game whose rules are in a text that modulates the convolutions.

Source: https://github.com/facebookresearch/RTFM/pull/2
Fault: No activation stands between the convolutions, so the five of them are one linear map
    of the grid.
Cause: (no|missing|lack\w*|without|omit\w*|forg\w+|absent|never).{0,40}(relu|activation
    |non.?linear\w*)|(linear|affine) (map|function|operation|transform\w*)|stack of linear
    |collaps\w+|(relu|activation|non.?linearity).{0,40}(missing|absent|never|between|after
    |omitted)|(purely|entirely|only) linear|consecutive (conv|linear)\w*
Place: conv\w*|relu|forward|\bx\b
"""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, words=80, size=32):
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=0)
        self.rnn = nn.LSTM(size, size // 2, bidirectional=True, batch_first=True)
        self.scorer = nn.Linear(size, 1)

    def forward(self, text):
        states, _ = self.rnn(self.embedding(text))
        scores = self.scorer(states).squeeze(2)
        scores = scores.masked_fill(text == 0, -1e20)
        return torch.bmm(scores.softmax(1).unsqueeze(1), states).squeeze(1)


class GridPolicy(nn.Module):
    def __init__(self, symbols=30, size=32, actions=5):
        super().__init__()
        self.symbol = nn.Embedding(symbols, size, padding_idx=0)
        self.reader = Reader(size=size)
        self.conv1 = nn.Conv2d(2 * size, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.conv4 = nn.Conv2d(64, 64, 3, padding=1)
        self.conv5 = nn.Conv2d(64, 32, 3, padding=1)
        self.fc = nn.Sequential(nn.Linear(32 * 9 + size, 64), nn.Tanh())
        self.policy, self.baseline = nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, grid, text):
        words = self.reader(text)
        cells = self.symbol(grid).permute(0, 3, 1, 2)
        tiled = words[:, :, None, None].expand(-1, -1, *cells.shape[2:])
        x = self.conv1(torch.cat([cells, tiled], 1))  # here
        x = self.conv2(x)  # here
        x = self.conv3(x)  # here
        x = self.conv4(x)  # here
        x = self.conv5(x)  # here
        x = nn.functional.adaptive_avg_pool2d(x, 3).flatten(1)
        state = self.fc(torch.cat([x, words], 1))
        return self.policy(state), self.baseline(state).squeeze(1)


def build():
    return GridPolicy()


def example_inputs():
    return torch.randint(1, 30, (4, 6, 6)), torch.randint(1, 80, (4, 12))
