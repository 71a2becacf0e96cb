"""The loss of PPO for discrete actions.

Source: https://github.com/pukkapies/dl-imperial-maths/pull/8
    https://github.com/DLR-RM/stable-baselines3/issues/127
Fault: the entropy is added to the loss, so the policy is pushed to become deterministic.
Cause: entropy.*(sign|minus|subtract|added|negat|maximi|minimi)|sign.*entropy
Place: entropy|loss
"""

import torch
import torch.nn.functional as F
from torch import nn


class PPOAgent(nn.Module):
    def __init__(self, obs=4, n_act=3, clip=0.2, ent_coef=0.5, vf_coef=0.5):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, n_act))
        self.value = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.clip, self.ent_coef, self.vf_coef = clip, ent_coef, vf_coef

    def forward(self, obs, actions, advantages, old_log_prob):
        dist = torch.distributions.Categorical(logits=self.policy(obs))
        ratio = (dist.log_prob(actions) - old_log_prob).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        values = self.value(obs).squeeze(-1)
        value_loss = F.mse_loss(values, advantages + values.detach())
        entropy = dist.entropy().mean()
        loss = policy_loss + self.vf_coef * value_loss + self.ent_coef * entropy  # here
        return {"loss": loss, "entropy": entropy}


def example_inputs():
    return (
        torch.randn(32, 4),
        torch.randint(0, 3, (32,)),
        torch.randn(32),
        torch.full((32,), -1.1),
    )
