"""Random network distillation: the curiosity bonus of an agent.

Source: https://github.com/jcwleo/random-network-distillation-pytorch/blob/master/model.py
Odd: the target network is random, frozen and never trained; the predictor learns to imitate it, and
    the error is the novelty of a state.
"""

import torch
from torch import nn


def conv_tower():
    return [
        nn.Conv2d(1, 8, 8, 4),
        nn.LeakyReLU(),
        nn.Conv2d(8, 16, 4, 2),
        nn.LeakyReLU(),
        nn.Flatten(),
        nn.Linear(16 * 4, 32),
    ]


class RNDModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor = nn.Sequential(*conv_tower(), nn.ReLU(), nn.Linear(32, 32))
        self.target = nn.Sequential(*conv_tower())
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                module.bias.data.zero_()
        for param in self.target.parameters():
            param.requires_grad = False

    def forward(self, next_obs):
        error = (self.predictor(next_obs) - self.target(next_obs).detach()) ** 2
        return error.mean(), error.mean(1)


def example_inputs():
    return (torch.randn(8, 1, 28, 28).clamp(-5, 5),)
