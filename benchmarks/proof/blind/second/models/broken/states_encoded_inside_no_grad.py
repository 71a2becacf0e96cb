r"""An unsupervised skill learner on pixels: contrastive loss between skills and transitions.

Source: https://github.com/rll-research/cic/issues/5
Fault: the observations are encoded inside torch.no_grad(), so the convolutions never get a gradient
    although they are to be trained.
Cause: no_grad|detach|gradients?\b.*\b(cut|stops?|blocked|none|reach)|(no|without|never \w+ a)
    gradient
Place: encoder|no_grad
"""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, channels=3, out=64):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv2d(channels, 16, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.repr_dim = 16 * 5 * 5

    def forward(self, obs):
        return self.convnet(obs / 255.0 - 0.5)


class CICAgent(nn.Module):
    def __init__(self, skill_dim=16, hidden=64, temp=0.5):
        super().__init__()
        self.temp = temp
        self.encoder = Encoder()
        self.state_net = nn.Linear(self.encoder.repr_dim, skill_dim)
        self.pred_net = nn.Sequential(
            nn.Linear(2 * skill_dim, hidden), nn.ReLU(), nn.Linear(hidden, skill_dim)
        )
        self.skill_net = nn.Sequential(
            nn.Linear(skill_dim, hidden), nn.ReLU(), nn.Linear(hidden, skill_dim)
        )

    def forward(self, obs, next_obs, skill):
        with torch.no_grad():  # here
            obs = self.encoder(obs)
            next_obs = self.encoder(next_obs)
        state, next_state = self.state_net(obs), self.state_net(next_obs)
        query = F.normalize(self.skill_net(skill), dim=1)
        key = F.normalize(self.pred_net(torch.cat([state, next_state], 1)), dim=1)
        logits = query @ key.t() / self.temp
        return F.cross_entropy(logits, torch.arange(len(logits))), logits


def build():
    return CICAgent()


def example_inputs():
    obs = torch.randint(0, 256, (12, 3, 24, 24)).float()
    return obs, obs.roll(1, -1), torch.rand(12, 16)
