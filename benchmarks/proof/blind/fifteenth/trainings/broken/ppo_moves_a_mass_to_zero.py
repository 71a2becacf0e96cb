r"""PPO with a Gaussian actor on a small continuous task, in the style of a notebook series.

Source: https://github.com/MrSyee/pg-is-all-you-need/pull/7
Fault: the rewards and masks of a step are stored without their batch axis while the values have
    one, so returns minus values broadcasts to a square table and each action gets advantages of
    all other steps: the agent never improves.
Cause: broadcast
    |(shape|size|dimension|axis|axes)s?.{0,120}(mismatch|differ|not (the )?(same|match|equal)
    |do(es)? not (match|agree)|against|square|\(N,|wrong|missing)
    |(advantage|return|value|reward)s?.{0,100}(shape|\(\d+, ?\d+\)|\[\d+, ?\d+\]|square|matrix|outer
    |all pairs|each pair|table)
    |(unsqueeze|squeeze|reshape)
Place: rewards|returns|advantage|values|masks|step|compute_gae
"""
import random
from collections import deque
from typing import Deque, List, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Normal


class MassEnv:
    """A mass on a line is pushed left or right and should rest at zero."""

    def __init__(self, seed, length=40):
        self.rng = np.random.RandomState(seed)
        self.length = length

    def reset(self):
        self.pos = self.rng.choice([-1, 1]) * self.rng.uniform(0.6, 1.5)
        self.vel = 0.0
        self.t = 0
        return np.array([self.pos, self.vel], dtype=np.float32)

    def step(self, action):
        a = float(np.clip(action, -1, 1).reshape(-1)[0])
        self.vel = 0.8 * self.vel + 0.15 * a
        self.pos = float(np.clip(self.pos + self.vel, -2, 2))
        self.t += 1
        state = np.array([self.pos, self.vel], dtype=np.float32)
        return state, -abs(self.pos), self.t >= self.length, {}


def init_layer_uniform(layer: nn.Linear, init_w: float = 3e-3) -> nn.Linear:
    layer.weight.data.uniform_(-init_w, init_w)
    layer.bias.data.uniform_(-init_w, init_w)
    return layer


class Actor(nn.Module):
    def __init__(self, in_dim: int, out_dim: int):
        super(Actor, self).__init__()
        self.hidden = nn.Linear(in_dim, 32)
        self.mu_layer = init_layer_uniform(nn.Linear(32, out_dim))
        self.log_std = nn.Parameter(torch.full((out_dim,), -0.5))

    def forward(self, state: torch.Tensor):
        x = torch.tanh(self.hidden(state))
        dist = Normal(torch.tanh(self.mu_layer(x)), self.log_std.exp())
        return dist.sample(), dist


class Critic(nn.Module):
    def __init__(self, in_dim: int):
        super(Critic, self).__init__()
        self.hidden = nn.Linear(in_dim, 32)
        self.out = init_layer_uniform(nn.Linear(32, 1))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return self.out(F.relu(self.hidden(state)))


def compute_gae(next_value: torch.Tensor, rewards: List, masks: List, values: List,
                gamma: float, tau: float) -> List:
    values = values + [next_value]
    gae = 0
    returns: Deque[float] = deque()
    for step in reversed(range(len(rewards))):
        v, v_next = values[step].reshape(-1), values[step + 1].reshape(-1)
        delta = rewards[step] + gamma * v_next * masks[step] - v
        gae = delta + gamma * tau * masks[step] * gae
        returns.appendleft((gae + v).reshape(rewards[step].shape))
    return list(returns)


def ppo_iter(epoch, mini_batch_size, states, actions, values, log_probs, returns, advantages):
    batch_size = states.size(0)
    for _ in range(epoch):
        for _ in range(batch_size // mini_batch_size):
            rand_ids = np.random.choice(batch_size, mini_batch_size)
            yield (states[rand_ids, :], actions[rand_ids], values[rand_ids], log_probs[rand_ids],
                   returns[rand_ids], advantages[rand_ids])


class PPOAgent:
    def __init__(self, env, batch_size=64, gamma=0.95, tau=0.9, epsilon=0.2, epoch=6,
                 rollout_len=400, entropy_weight=0.002):
        self.env = env
        self.gamma, self.tau, self.batch_size = gamma, tau, batch_size
        self.epsilon, self.epoch, self.rollout_len = epsilon, epoch, rollout_len
        self.entropy_weight = entropy_weight
        self.actor = Actor(2, 1)
        self.critic = Critic(2)
        self.actor_optimizer = optim.Adam(self.actor.parameters(), lr=0.005)
        self.critic_optimizer = optim.Adam(self.critic.parameters(), lr=0.01)
        self.states, self.actions, self.rewards = [], [], []
        self.values, self.masks, self.log_probs = [], [], []

    def select_action(self, state: np.ndarray) -> np.ndarray:
        state = torch.FloatTensor(state)
        with torch.no_grad():
            action, dist = self.actor(state)
            value = self.critic(state)
        self.states.append(state)
        self.actions.append(action)
        self.values.append(value)
        self.log_probs.append(dist.log_prob(action))
        return action.numpy()

    def step(self, action: np.ndarray) -> Tuple[np.ndarray, float, bool]:
        next_state, reward, done, _ = self.env.step(action)
        next_state = np.reshape(next_state, (1, -1)).astype(np.float32)
        self.rewards.append(torch.FloatTensor([reward]))  # here
        self.masks.append(torch.FloatTensor([1 - done]))  # here
        return next_state, reward, done

    def update_model(self, next_state: np.ndarray) -> Tuple[float, float]:
        with torch.no_grad():
            next_value = self.critic(torch.FloatTensor(next_state))
        returns = compute_gae(next_value, self.rewards, self.masks, self.values, self.gamma,
                              self.tau)
        states = torch.cat(self.states).view(-1, 2)
        actions = torch.cat(self.actions)
        returns = torch.cat(returns).detach()
        values = torch.cat(self.values).detach()
        log_probs = torch.cat(self.log_probs).detach()
        advantages = returns - values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-7)

        actor_losses, critic_losses = [], []
        for state, action, old_value, old_log_prob, return_, adv in ppo_iter(
                self.epoch, self.batch_size, states, actions, values, log_probs, returns,
                advantages):
            _, dist = self.actor(state)
            ratio = (dist.log_prob(action) - old_log_prob).exp()
            surr_loss = ratio * adv
            clipped = torch.clamp(ratio, 1.0 - self.epsilon, 1.0 + self.epsilon) * adv
            entropy = dist.entropy().mean()
            actor_loss = -torch.min(surr_loss, clipped).mean() - entropy * self.entropy_weight
            critic_loss = (return_ - self.critic(state)).pow(2).mean()

            self.critic_optimizer.zero_grad()
            critic_loss.backward()
            self.critic_optimizer.step()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            actor_losses.append(actor_loss.item())
            critic_losses.append(critic_loss.item())

        self.states, self.actions, self.rewards = [], [], []
        self.values, self.masks, self.log_probs = [], [], []
        return sum(actor_losses) / len(actor_losses), sum(critic_losses) / len(critic_losses)

    def train(self, num_updates: int):
        state = np.expand_dims(self.env.reset(), axis=0)
        scores, score = [], 0.0
        for update in range(num_updates):
            for _ in range(self.rollout_len):
                action = self.select_action(state)
                state, reward, done = self.step(action)
                score += reward
                if done:
                    state = np.expand_dims(self.env.reset(), axis=0)
                    scores.append(score)
                    score = 0.0
            actor_loss, critic_loss = self.update_model(state)
            if update % 3 == 2:
                print('update {:2d} score {:7.2f} actor loss {:.3f} critic loss {:.3f}'.format(
                    update + 1, np.mean(scores[-10:]), actor_loss, critic_loss))


seed = 777
random.seed(seed)
np.random.seed(seed)
torch.manual_seed(seed)
agent = PPOAgent(MassEnv(seed))
agent.train(18)
