r"""A driver learns to drive like an expert whose rewards nobody knows.

Source: https://github.com/openai/imitation
Odd: The reward comes from a classifier that is trained against the driver; its loss rises towards
    twice ln 2 as the driver gets better, and the loss of the policy has no meaning of its own.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(124)
CARS, STEPS, GAMMA = 96, 8, 0.5


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 48), nn.Tanh(), nn.Linear(48, outputs))


def drive(state, action):
    lane, bend = state.unbind(1)
    lane = (lane + 0.4 * (action.float() - 1) + 0.2 * bend).clamp(-2, 2)
    bend = (0.7 * bend + 0.6 * torch.randn_like(bend)).clamp(-2, 2)
    return torch.stack([lane, bend], 1)


def expert(state):
    wanted = -(state[:, 0] + 0.2 * state[:, 1])
    return (1 + (wanted > 0.2).long() - (wanted < -0.2).long()).clamp(0, 2)


@torch.no_grad()
def roll(policy):
    state = torch.randn(CARS, 2)
    states, actions = [], []
    for _ in range(STEPS):
        action = policy(state)
        states.append(state)
        actions.append(action)
        state = drive(state, action)
    return torch.stack(states), torch.stack(actions)


def features(states, actions):
    return torch.cat([states, F.one_hot(actions, 3).float()], -1)


actor, value, judge = mlp(2, 3), mlp(2, 1), mlp(5, 1)
actor_optimizer = torch.optim.Adam([*actor.parameters(), *value.parameters()], lr=1e-2)
judge_optimizer = torch.optim.Adam(judge.parameters(), lr=1e-2)
for iteration in range(250):
    states, actions = roll(lambda s: Categorical(logits=actor(s)).sample())
    shown = features(*roll(expert))
    driven = features(states, actions)
    fake, real = judge(driven), judge(shown)
    judge_loss = F.softplus(fake).mean() + F.softplus(-real).mean()
    judge_optimizer.zero_grad()
    judge_loss.backward()
    judge_optimizer.step()

    with torch.no_grad():
        reward = F.softplus(judge(driven)).squeeze(-1)
        reward = reward - reward.mean()
        returns, following = [], torch.zeros(CARS)
        for r in reward.flip(0):
            following = r + GAMMA * following
            returns.insert(0, following)
        returns = torch.stack(returns)
    worth = value(states).squeeze(-1)
    advantage = returns - worth.detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    dist = Categorical(logits=actor(states))
    policy_loss = -(advantage * dist.log_prob(actions)).mean() - 0.002 * dist.entropy().mean()
    actor_optimizer.zero_grad()
    (policy_loss + F.mse_loss(worth, returns)).backward()
    actor_optimizer.step()
    if iteration % 50 == 49:
        away = states[3:, :, 0].abs().mean().item()
        same = (actions == expert(states.flatten(0, 1)).view(STEPS, CARS)).float().mean().item()
        print(f"{iteration + 1} judge {judge_loss.item():.3f} off {away:.3f} as expert {same:.3f}")
