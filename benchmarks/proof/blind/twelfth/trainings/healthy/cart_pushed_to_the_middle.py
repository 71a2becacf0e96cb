r"""Deterministic policy gradient with target nets for a cart that is to stop in the middle.

Source: https://github.com/openai/baselines/issues/645
Healthy: the loss of the actor is only minus the mean of the critic and may go up and be negative;
    the derivative by the actor's weights is in it through the action, nothing is missing.
"""
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 1
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)


class CartEnv:
    """A cart on a line, force between -1 and 1, reward for being near zero."""
    max_steps = 40

    def reset(self):
        self.x = np.random.uniform(-1.0, 1.0)
        self.v = np.random.uniform(-0.3, 0.3)
        self.t = 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        a = float(np.clip(a, -1, 1))
        self.v += 0.1 * (1.5 * a - 0.2 * self.v)
        self.x += 0.1 * self.v
        self.t += 1
        reward = -(self.x ** 2 + 0.1 * self.v ** 2 + 0.01 * a ** 2)
        done = abs(self.x) > 2.0
        if done:
            reward -= 10
        return (np.array([self.x, self.v], dtype=np.float32), reward, done,
                self.t >= self.max_steps)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(2, 48), nn.Linear(48, 48), nn.Linear(48, 1)

    def forward(self, s):
        return torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(s))))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(3, 48), nn.Linear(48, 48), nn.Linear(48, 1)

    def forward(self, s, a):
        q = torch.cat([s, a], dim=1)
        return self.l3(F.relu(self.l2(F.relu(self.l1(q)))))


class DDPG:
    def __init__(self, gamma=0.97, tau=0.01, actor_lr=1e-3, critic_lr=2e-3, batch_size=64):
        self.actor, self.critic = Actor(), Critic()
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=actor_lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=critic_lr)
        self.gamma, self.tau, self.batch_size = gamma, tau, batch_size
        self.memory = deque(maxlen=20000)

    def step(self, obs, noise=0.0):
        with torch.no_grad():
            a = self.actor(torch.from_numpy(obs)[None]).numpy()[0]
        return np.clip(a + noise * np.random.randn(1), -1, 1).astype(np.float32)

    def store_transition(self, *transition):
        self.memory.append(transition)

    def train(self):
        batch = random.sample(self.memory, self.batch_size)
        obs0, actions, rewards, obs1, terminals1 = [
            torch.tensor(np.array(x), dtype=torch.float32) for x in zip(*batch)]
        with torch.no_grad():
            q_next = self.target_critic(obs1, self.target_actor(obs1)).squeeze(1)
            target_q = rewards + (1.0 - terminals1) * self.gamma * q_next

        critic_loss = F.mse_loss(self.critic(obs0, actions).squeeze(1), target_q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(obs0, self.actor(obs0)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        return critic_loss.item(), actor_loss.item()

    def update_target_net(self):
        for net, target in ((self.actor, self.target_actor), (self.critic, self.target_critic)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.mul_(1 - self.tau).add_(self.tau * p.data)


def evaluate(agent, env, episodes=10):
    total = 0.0
    for _ in range(episodes):
        obs, over = env.reset(), False
        while not over:
            obs, r, done, timeout = env.step(agent.step(obs)[0])
            total += r
            over = done or timeout
    return total / episodes


if __name__ == "__main__":
    env, agent = CartEnv(), DDPG()
    print("untrained return %.2f" % evaluate(agent, env))
    for episode in range(42):
        obs, over, losses = env.reset(), False, []
        while not over:
            action = agent.step(obs, noise=0.3)
            new_obs, r, done, timeout = env.step(action[0])
            agent.store_transition(obs, action, r, new_obs, float(done))
            obs = new_obs
            over = done or timeout
            if len(agent.memory) > 200:
                losses.append(agent.train())
                agent.update_target_net()
        if episode % 14 == 13:
            c, a = np.mean(losses, axis=0)
            print("episode %d critic loss %.4f actor loss %.3f return %.2f" % (
                episode + 1, c, a, evaluate(agent, env)))
