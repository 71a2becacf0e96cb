"""In the style of pytorch/examples/reinforcement_learning/actor_critic.py."""

import json
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Categorical

torch.manual_seed(543)
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state):
    probs, state_value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode(model, optimizer):
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.9 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    for (log_prob, value), R in zip(model.saved_actions, returns, strict=True):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.view(1)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


def main():
    model = Policy()
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    losses = []
    for i_episode in range(80):
        for _ in range(10):
            state = torch.randn(4)
            action = select_action(model, state)
            model.rewards.append(float(action == int(state[1] > 0)))
        losses.append(finish_episode(model, optimizer))
        if i_episode % 20 == 0:
            print(f"Episode {i_episode}: {losses[-1]:.3f}")
    print("TRUTH", json.dumps({"model": ["Adam", 80, losses[0], losses[-1]]}))


if __name__ == "__main__":
    main()
