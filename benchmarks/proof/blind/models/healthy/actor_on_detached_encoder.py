"""An actor-critic over pixels that shares one encoder.

Source: https://github.com/MishaLaskin/rad/issues/4
Odd: the actor sees detached features; the encoder learns from the loss of the critic only.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PixelActorCritic(nn.Module):
    def __init__(self, n_act=2, feat=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(200, feat), nn.LayerNorm(feat)
        )
        self.actor = nn.Sequential(nn.Linear(feat, 32), nn.ReLU(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(feat + n_act, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, action, target_q):
        h = self.encoder(obs)
        q = self.critic(torch.cat([h, action], dim=1))
        pi = torch.tanh(self.actor(h.detach()))
        q_pi = self.critic(torch.cat([h.detach(), pi], dim=1))
        actor_loss = -q_pi.mean() * 0.01
        return {"loss": F.mse_loss(q, target_q) + actor_loss, "q": q}


def example_inputs():
    return (
        torch.rand(8, 3, 12, 12),
        torch.randn(8, 2),
        torch.randn(8, 1),
    )
