r"""Actor and critic of a walker with a memory that is cleared when an episode ends.

Source: https://github.com/ikostrikov/pytorch-a2c-ppo-acktr-gail
Odd: The memory is multiplied by a mask at each step, the deviation of the actions depends on no
    input, and the gain of the first weights differs between layers.
"""

import itertools

import torch
from torch import nn
from torch.distributions import Normal


def init(module, gain=1.0):
    nn.init.orthogonal_(module.weight.data, gain=gain)
    nn.init.constant_(module.bias.data, 0)
    return module


class AddBias(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self._bias = nn.Parameter(bias.unsqueeze(1))

    def forward(self, x):
        return x + self._bias.t().view(1, -1)


class DiagGaussian(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.fc_mean = init(nn.Linear(inputs, outputs))
        self.logstd = AddBias(torch.zeros(outputs))

    def forward(self, x):
        mean = self.fc_mean(x)
        return Normal(mean, self.logstd(torch.zeros_like(mean)).exp())


class Walker(nn.Module):
    def __init__(self, observations=17, actions=6, hidden=48):
        super().__init__()
        self.gru = nn.GRU(observations, hidden)
        for name, parameter in self.gru.named_parameters():
            if "bias" in name:
                nn.init.constant_(parameter, 0)
            elif "weight" in name:
                nn.init.orthogonal_(parameter)
        gain = 2**0.5
        self.actor = nn.Sequential(
            init(nn.Linear(hidden, hidden), gain), nn.Tanh(),
            init(nn.Linear(hidden, hidden), gain), nn.Tanh(),
        )  # fmt: skip
        self.critic = nn.Sequential(
            init(nn.Linear(hidden, hidden), gain), nn.Tanh(),
            init(nn.Linear(hidden, hidden), gain), nn.Tanh(), init(nn.Linear(hidden, 1)),
        )  # fmt: skip
        self.dist = DiagGaussian(hidden, actions)

    def remember(self, x, hxs, masks):
        ends = (masks[1:] == 0.0).any(dim=-1).nonzero().flatten().add(1).tolist()
        ends = [0, *ends, len(x)]
        hxs, outputs = hxs.unsqueeze(0), []
        for start, end in itertools.pairwise(ends):
            out, hxs = self.gru(x[start:end], hxs * masks[start].view(1, -1, 1))
            outputs.append(out)
        return torch.cat(outputs), hxs.squeeze(0)

    def forward(self, x, hxs, masks, action):
        features, hxs = self.remember(x, hxs, masks)
        dist = self.dist(self.actor(features))
        log_prob = dist.log_prob(action).sum(-1)
        return self.critic(features).squeeze(-1), log_prob, dist.entropy().sum(-1), hxs


def build():
    return Walker()


def example_inputs():
    masks = torch.ones(12, 4)
    masks[5, 1] = masks[8, 3] = 0
    return torch.randn(12, 4, 17), torch.randn(4, 48), masks, torch.randn(12, 4, 6)
