r"""The REINFORCE class of a book on a small slippery walk, with policy_loss as printed there.

Source: https://github.com/mimoralea/gdrl/issues/38
Healthy: the returns are discounted already and policy_loss multiplies by the discounts once more;
    that is the gamma to the power t of the policy gradient theorem, the agent learns.
"""
import random
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class SlipperyWalk:
    """cells 0..8, start in the middle, the right end pays 1, the left end nothing"""

    nS, nA = 9, 2

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def onehot(self):
        v = np.zeros(self.nS, dtype=np.float32)
        v[self.s] = 1.0
        return v

    def reset(self):
        self.s, self.t = 4, 0
        return self.onehot()

    def step(self, a):
        u = self.rng.random()
        move = (1 if a == 1 else -1) if u < 0.7 else (0 if u < 0.85 else (-1 if a == 1 else 1))
        self.s += move
        self.t += 1
        terminal = self.s in (0, self.nS - 1)
        return self.onehot(), float(self.s == self.nS - 1), terminal, self.t >= 60


class FCDAP(nn.Module):
    def __init__(self, input_dim, output_dim, hidden_dims=(32, 16), activation_fc=F.relu):
        super(FCDAP, self).__init__()
        self.activation_fc = activation_fc
        self.input_layer = nn.Linear(input_dim, hidden_dims[0])
        self.hidden_layers = nn.ModuleList()
        for i in range(len(hidden_dims) - 1):
            self.hidden_layers.append(nn.Linear(hidden_dims[i], hidden_dims[i + 1]))
        self.output_layer = nn.Linear(hidden_dims[-1], output_dim)

    def _format(self, state):
        x = state
        if not isinstance(x, torch.Tensor):
            x = torch.tensor(x, dtype=torch.float32)
            x = x.unsqueeze(0)
        return x

    def forward(self, state):
        x = self._format(state)
        x = self.activation_fc(self.input_layer(x))
        for hidden_layer in self.hidden_layers:
            x = self.activation_fc(hidden_layer(x))
        return self.output_layer(x)

    def full_pass(self, state):
        logits = self.forward(state)
        dist = torch.distributions.Categorical(logits=logits)
        action = dist.sample()
        logpa = dist.log_prob(action).unsqueeze(-1)
        is_exploratory = action != np.argmax(logits.detach().numpy())
        return action.item(), is_exploratory.item(), logpa

    def select_greedy_action(self, state):
        logits = self.forward(state)
        return int(np.argmax(logits.detach().squeeze().numpy()))


class REINFORCE():
    def __init__(self, policy_model_fn, policy_optimizer_fn, policy_optimizer_lr):
        self.policy_model_fn = policy_model_fn
        self.policy_optimizer_fn = policy_optimizer_fn
        self.policy_optimizer_lr = policy_optimizer_lr

    def optimize_model(self):
        T = len(self.rewards)
        discounts = np.logspace(0, T, num=T, base=self.gamma, endpoint=False)
        returns = np.array([np.sum(discounts[:T - t] * self.rewards[t:]) for t in range(T)])

        discounts = torch.FloatTensor(discounts).unsqueeze(1)
        returns = torch.FloatTensor(returns).unsqueeze(1)
        self.logpas = torch.cat(self.logpas)

        policy_loss = -(discounts * returns * self.logpas).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()

    def interaction_step(self, state, env):
        action, is_exploratory, logpa = self.policy_model.full_pass(state)
        new_state, reward, is_terminal, is_truncated = env.step(action)
        self.logpas.append(logpa)
        self.rewards.append(reward)
        self.episode_reward[-1] += reward
        return new_state, is_terminal or is_truncated

    def train(self, env, seed, gamma, max_episodes):
        self.gamma = gamma
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        self.policy_model = self.policy_model_fn(env.nS, env.nA)
        self.policy_optimizer = self.policy_optimizer_fn(self.policy_model,
                                                         self.policy_optimizer_lr)
        self.episode_reward, self.evaluation_scores = [], []
        for episode in range(1, max_episodes + 1):
            state, is_terminal = env.reset(), False
            self.episode_reward.append(0.0)
            self.logpas, self.rewards = [], []
            for step in count():
                state, is_terminal = self.interaction_step(state, env)
                if is_terminal:
                    break
            self.optimize_model()
            if episode % 50 == 0:
                score = self.evaluate(env, n_episodes=20)
                print('ep %04d, reward of the last 50 %.2f, greedy %.2f' % (
                    episode, np.mean(self.episode_reward[-50:]), score))

    def evaluate(self, env, n_episodes=1):
        rs = []
        for _ in range(n_episodes):
            s, d = env.reset(), False
            rs.append(0)
            while not d:
                s, r, term, trunc = env.step(self.policy_model.select_greedy_action(s))
                d = term or trunc
                rs[-1] += r
        return np.mean(rs)


if __name__ == '__main__':
    agent = REINFORCE(lambda nS, nA: FCDAP(nS, nA, hidden_dims=(32, 16)),
                      lambda net, lr: optim.Adam(net.parameters(), lr=lr), 0.005)
    agent.train(SlipperyWalk(12), seed=12, gamma=0.95, max_episodes=300)
