r"""Exercise of a text book: a deep network of residual layers with batch norm.

Source: https://github.com/udlbook/udlbook/issues/138
Fault: The batch norms are made but the forward does not call them, so the variance grows.
Cause: (batch.?norm|\bbn\d?\b|norm)\w*.{0,80}(unused|never|not|no effect|without|ignored)
    |(unused|never (used|called|run)|not (used|called)|no gradient|did not run).{0,80}(norm|bn)
    |varianc\w*.{0,40}(grow|explod|increas|doubl)|activations?.{0,40}grow
Place: \bbn\d|norms
"""

import torch
from torch import nn


class ResidualNetworkWithBatchNorm(nn.Module):
    def __init__(self, input_size, output_size, hidden_size=100):
        super().__init__()
        self.linear1 = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, hidden_size)
        self.linear3 = nn.Linear(hidden_size, hidden_size)
        self.linear4 = nn.Linear(hidden_size, hidden_size)
        self.linear5 = nn.Linear(hidden_size, hidden_size)
        self.linear6 = nn.Linear(hidden_size, output_size)
        self.bn2 = nn.BatchNorm1d(hidden_size)
        self.bn3 = nn.BatchNorm1d(hidden_size)
        self.bn4 = nn.BatchNorm1d(hidden_size)
        self.bn5 = nn.BatchNorm1d(hidden_size)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        f = self.linear1(x)
        res1 = f + self.linear2(f.relu())  # here
        res2 = res1 + self.linear3(res1.relu())  # here
        res3 = res2 + self.linear4(res2.relu())  # here
        res4 = res3 + self.linear5(res3.relu())  # here
        return self.linear6(res4)


def build():
    torch.manual_seed(1)
    return ResidualNetworkWithBatchNorm(40, 10)


def example_inputs():
    return torch.randn(64, 40)
