r"""Two agents that are to meet on a ring, each with its own actor, and a common critic.

Source: https://github.com/isp1tze/MAProj/issues/3
Fault: The learning rates of the actors and of the critic are far too small for the number of
    updates, so hardly anything is learned.
Cause: learning.?rate|\blr\b|step size|(update|weight|parameter)\w*.{0,60}(tiny|small|hardly|slow
    |barely|little|negligible)
Place: \w*lr\b|learning_rate|optimi[sz]er|Adam
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(67)


class Args:
    places = 10
    agents = 2
    horizon = 8
    games = 64
    updates = 100
    gamma = 0.6
    a_lr = 1e-6  # here
    c_lr = 1e-5  # here


class Actor(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.fc1 = nn.Linear(2 * args.places, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, obs):
        return Categorical(logits=self.fc2(torch.relu(self.fc1(obs))))


class Critic(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.fc1 = nn.Linear(2 * args.places, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, obs):
        return self.fc2(torch.relu(self.fc1(obs))).squeeze(-1)


class Ring:
    def __init__(self, args):
        self.args = args

    def reset(self):
        self.place = torch.randint(0, self.args.places, (self.args.games, 2))
        return self.observe()

    def observe(self):
        return F.one_hot(self.place, self.args.places).float().flatten(1)

    def step(self, actions):
        self.place = (self.place + actions - 1) % self.args.places
        gap = (self.place[:, 0] - self.place[:, 1]).abs()
        gap = torch.minimum(gap, self.args.places - gap)
        return self.observe(), 1.0 - gap.float() / (self.args.places // 2)


def collect(env, actors, args):
    obs, history = env.reset(), []
    for _ in range(args.horizon):
        with torch.no_grad():
            actions = torch.stack([actor(obs).sample() for actor in actors], 1)
        following, reward = env.step(actions)
        history.append((obs, actions, reward))
        obs = following
    returns, running = [], torch.zeros(args.games)
    for _, _, reward in reversed(history):
        running = reward + args.gamma * running
        returns.insert(0, running)
    states = torch.cat([h[0] for h in history])
    actions = torch.cat([h[1] for h in history])
    final = torch.stack([h[2] for h in history])[-3:].mean().item()
    return states, actions, torch.cat(returns), final


args = Args()
env, critic = Ring(args), Critic(args)
actors = [Actor(args) for _ in range(args.agents)]
actor_optimizers = [torch.optim.Adam(a.parameters(), lr=args.a_lr) for a in actors]
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=args.c_lr)
for update in range(args.updates):
    states, actions, returns, final = collect(env, actors, args)
    value = critic(states)
    value_loss = F.mse_loss(value, returns)
    critic_optimizer.zero_grad()
    value_loss.backward()
    critic_optimizer.step()
    advantage = (returns - value).detach()
    for index, (actor, optimizer) in enumerate(zip(actors, actor_optimizers)):
        policy = actor(states)
        loss = -(policy.log_prob(actions[:, index]) * advantage).mean()
        loss = loss - 0.005 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 20 == 19:
        print(f"update {update + 1}: reward {final:.3f} value loss {value_loss:.3f}")
