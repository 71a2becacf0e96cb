r"""Distribution of returns with two streams and noise in the weights instead of exploration.

Source: https://github.com/Kaixhin/Rainbow/blob/master/model.py
Odd: Each forward in training has other noise, kept in buffers; sigma of all weights begins at one
    constant.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class NoisyLinear(nn.Module):
    def __init__(self, size, out, std_init=0.5):
        super().__init__()
        bound = 1 / math.sqrt(size)
        self.weight_mu = nn.Parameter(torch.empty(out, size).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((out, size), std_init * bound))
        self.bias_mu = nn.Parameter(torch.empty(out).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((out,), std_init / math.sqrt(out)))
        self.register_buffer("weight_epsilon", torch.empty(out, size))
        self.register_buffer("bias_epsilon", torch.empty(out))
        self.reset_noise()

    def reset_noise(self):
        noise = [torch.randn(n) for n in self.weight_mu.shape]
        out, size = (n.sign() * n.abs().sqrt() for n in noise)
        self.weight_epsilon.copy_(out.outer(size))
        self.bias_epsilon.copy_(out)

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        weight = self.weight_mu + self.weight_sigma * self.weight_epsilon
        return F.linear(x, weight, self.bias_mu + self.bias_sigma * self.bias_epsilon)


class DQN(nn.Module):
    def __init__(self, size=8, actions=3, atoms=11):
        super().__init__()
        self.atoms, self.actions = atoms, actions
        self.body = nn.Sequential(nn.Linear(size, 32), nn.ReLU())
        self.fc_h_v, self.fc_h_a = NoisyLinear(32, 24), NoisyLinear(32, 24)
        self.fc_z_v, self.fc_z_a = NoisyLinear(24, atoms), NoisyLinear(24, actions * atoms)

    def forward(self, x):
        x = self.body(x)
        v = self.fc_z_v(F.relu(self.fc_h_v(x))).view(-1, 1, self.atoms)
        a = self.fc_z_a(F.relu(self.fc_h_a(x))).view(-1, self.actions, self.atoms)
        return F.log_softmax(v + a - a.mean(1, keepdim=True), dim=2)


def build():
    return DQN()


def example_inputs():
    return torch.randn(8, 8)
