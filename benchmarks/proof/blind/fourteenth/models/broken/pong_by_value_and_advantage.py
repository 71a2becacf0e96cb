r"""The dueling network of a book's chapter, with noisy layers, that plays Pong from four frames.

Source: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/52
Fault: the mean of the advantages is taken over the whole batch instead of over the actions of each
    state, so that the Q values of a state depend on the other states of the batch and the
    separation into value and advantage is lost.
Cause: (mean|average|averag).{0,80}(batch|whole|entire|all (the )?(states|samples|rows|entries
    |elements)|global|every|scalar|without (a )?dim|no dim|missing dim)
    |(batch|whole|entire|global|scalar).{0,60}(mean|average)
    |(samples|states|rows|outputs?|q.?values?|batch).{0,60}(depend|influence|leak|mix|affect|coupl
    |see).{0,60}(batch|each other|other|another)
    |(across|between|over) (the )?(batch|samples|states)
    |mean.{0,40}(should|instead|needs?).{0,40}(dim|axis|action)
Place: mean|\badv\b|fc_adv|forward
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import numpy as np


class NoisyLinear(nn.Linear):
    def __init__(self, in_features, out_features, sigma_init=0.017, bias=True):
        super(NoisyLinear, self).__init__(in_features, out_features, bias=bias)
        self.sigma_weight = nn.Parameter(torch.full((out_features, in_features), sigma_init))
        self.register_buffer("epsilon_weight", torch.zeros(out_features, in_features))
        if bias:
            self.sigma_bias = nn.Parameter(torch.full((out_features,), sigma_init))
            self.register_buffer("epsilon_bias", torch.zeros(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        std = math.sqrt(3 / self.in_features)
        self.weight.data.uniform_(-std, std)
        self.bias.data.uniform_(-std, std)

    def forward(self, input):
        if not self.training:
            return F.linear(input, self.weight, self.bias)
        self.epsilon_weight.normal_()
        bias = self.bias
        if bias is not None:
            self.epsilon_bias.normal_()
            bias = bias + self.sigma_bias * self.epsilon_bias
        return F.linear(input, self.weight + self.sigma_weight * self.epsilon_weight, bias)


class DuelingDQN(nn.Module):
    def __init__(self, input_shape, n_actions):
        super(DuelingDQN, self).__init__()

        self.conv = nn.Sequential(
            nn.Conv2d(input_shape[0], 16, kernel_size=8, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=4, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, kernel_size=3, stride=1),
            nn.ReLU()
        )

        conv_out_size = self._get_conv_out(input_shape)
        self.fc_adv = nn.Sequential(
            NoisyLinear(conv_out_size, 128),
            nn.ReLU(),
            NoisyLinear(128, n_actions)
        )
        self.fc_val = nn.Sequential(
            NoisyLinear(conv_out_size, 128),
            nn.ReLU(),
            NoisyLinear(128, 1)
        )

    def _get_conv_out(self, shape):
        o = self.conv(torch.zeros(1, *shape))
        return int(np.prod(o.size()))

    def forward(self, x):
        fx = x.float() / 256
        conv_out = self.conv(fx).view(fx.size()[0], -1)
        val = self.fc_val(conv_out)
        adv = self.fc_adv(conv_out)
        return val + adv - adv.mean()  # here


def build():
    torch.manual_seed(0)
    return DuelingDQN((4, 52, 52), 6)


def example_inputs():
    torch.manual_seed(1)
    frames = torch.zeros(8, 4, 52, 52, dtype=torch.uint8)
    for i in range(8):
        for t in range(4):
            row = int(torch.randint(4, 40, (1,))) + t
            col = int(torch.randint(4, 40, (1,))) + 2 * t
            frames[i, t, row:row + 3, col:col + 3] = 236
            frames[i, t, 20 + i:30 + i, 2:5] = 148
    return (frames,)
