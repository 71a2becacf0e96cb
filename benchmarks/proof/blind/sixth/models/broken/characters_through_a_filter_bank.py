r"""Text encoder of a speech synthesiser: a bank of convolutions, highways, and a GRU.

Source: https://github.com/r9y9/tacotron_pytorch/issues/19
Fault: The momentum of the batch norms has the meaning of the other framework, so the running
    statistics are nearly those of the last batch.
Cause: momentum|running.{0,20}(mean|var|stat|average|estimate).{0,60}(last|batch|fast|nearly)
Place: \bbn\b|momentum
"""

import torch
from torch import nn


class BatchNormConv1d(nn.Module):
    def __init__(self, in_dim, out_dim, kernel_size, padding, activation=None):
        super().__init__()
        self.conv1d = nn.Conv1d(in_dim, out_dim, kernel_size, padding=padding, bias=False)
        self.bn = nn.BatchNorm1d(out_dim, momentum=0.99, eps=1e-3)  # here
        self.activation = activation

    def forward(self, x):
        x = self.conv1d(x)
        if self.activation is not None:
            x = self.activation(x)
        return self.bn(x)


class Highway(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.h = nn.Linear(size, size)
        self.t = nn.Linear(size, size)
        nn.init.constant_(self.t.bias, -1.0)

    def forward(self, x):
        t = torch.sigmoid(self.t(x))
        return torch.relu(self.h(x)) * t + x * (1 - t)


class Cbhg(nn.Module):
    def __init__(self, dim=24, kinds=4):
        super().__init__()
        self.bank = nn.ModuleList(
            BatchNormConv1d(dim, dim, k, k // 2, nn.ReLU()) for k in range(1, kinds + 1)
        )
        self.pool = nn.MaxPool1d(2, stride=1, padding=1)
        self.project = BatchNormConv1d(kinds * dim, dim, 3, 1, nn.ReLU())
        self.highways = nn.Sequential(Highway(dim), Highway(dim))
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)

    def forward(self, x):
        steps = x.size(1)
        y = x.transpose(1, 2)
        y = torch.cat([conv(y)[:, :, :steps] for conv in self.bank], dim=1)
        y = self.project(self.pool(y)[:, :, :steps]).transpose(1, 2)
        return self.gru(self.highways(y + x))[0]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 24)
        self.cbhg = Cbhg()

    def forward(self, text):
        return self.cbhg(self.embedding(text))


def build():
    return Encoder()


def example_inputs():
    return torch.randint(0, 40, (4, 15))
