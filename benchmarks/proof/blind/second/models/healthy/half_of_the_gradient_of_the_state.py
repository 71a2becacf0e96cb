"""The dynamics of a planning agent, unrolled for several steps.

Source: https://github.com/werner-duvaud/muzero-general/blob/master/trainer.py
Odd: a hook halves the gradient of the hidden state at each step, so the first steps get much less;
    this is how the unrolled model is trained.
"""

import torch
from torch import nn


class MuZeroNetwork(nn.Module):
    def __init__(self, obs=8, state=24, actions=3, steps=4):
        super().__init__()
        self.actions, self.steps = actions, steps
        self.representation = nn.Sequential(nn.Linear(obs, 32), nn.ELU(), nn.Linear(32, state))
        self.dynamics = nn.Sequential(
            nn.Linear(state + actions, 32), nn.ELU(), nn.Linear(32, state)
        )
        self.reward = nn.Linear(state, 1)
        self.prediction = nn.Linear(state, actions + 1)

    @staticmethod
    def scale(state):
        low, high = state.min(1, keepdim=True).values, state.max(1, keepdim=True).values
        return (state - low) / (high - low + 1e-5)

    def forward(self, obs, plan, target_value, target_reward):
        state = self.scale(self.representation(obs))
        loss = 0.0
        for step in range(self.steps):
            onehot = nn.functional.one_hot(plan[:, step], self.actions).float()
            state = self.scale(self.dynamics(torch.cat([state, onehot], 1)))
            if state.requires_grad:
                state.register_hook(lambda grad: grad * 0.5)
            value = self.prediction(state)[:, -1]
            reward = self.reward(state).squeeze(1)
            error = (value - target_value[:, step]) ** 2 + (reward - target_reward[:, step]) ** 2
            loss = loss + error.mean() / self.steps
        return {"loss": loss, "state": state}


def example_inputs():
    plan = torch.randint(0, 3, (16, 4))
    return torch.randn(16, 8), plan, torch.randn(16, 4), torch.rand(16, 4)
