r"""The REINFORCE tutorial for a continuous control task: a normal policy and an agent class.

Source: https://github.com/Farama-Foundation/Gymnasium/issues/1336
Fault: update() multiplies the returns with the mean of all log probabilities of the episode; each
    action gets the same total return, credit is not assigned and the policy learns badly.
Cause: (log.?prob\w*|log probabilit\w+)\b.*(mean|averag\w+|same|single|one (number|scalar|value)
    |collaps\w*)
    |(mean|averag\w+)\b.*(log.?prob\w*|log probabilit\w+)
    |(credit|returns?|deltas?|rewards?)\b.*(every|each|all)\b.*(same|equal|shared|identical
    |sum of)
    |(every|each|all)\b.*(action|step|log.?prob\w*|time)s?\b.*(same|equal|shared|identical
    |sum of)\b.*(return|weight|reward|delta|credit|sum)
    |(not|instead of|rather than)\b.*(element.?wise|per.?step|step by step|paired|own return
    |own log)
Place: log_prob_mean|log_probs|update|loss
"""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
from torch.distributions.normal import Normal


class PointEnv:
    """a mass on a line is pushed towards the origin"""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.x = self.rng.uniform(-2, 2)
        self.v = 0.0
        self.t = 0
        return self.obs()

    def obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        a = float(np.clip(action, -2, 2))
        self.v = 0.6 * self.v + 0.3 * a
        self.x = float(np.clip(self.x + self.v, -3, 3))
        self.t += 1
        reward = -abs(self.x)
        return self.obs(), reward, self.t >= 12


class Policy_Network(nn.Module):
    """Parametrized Policy Network."""

    def __init__(self, obs_space_dims: int, action_space_dims: int):
        super().__init__()
        hidden_space1 = 16
        hidden_space2 = 32
        self.shared_net = nn.Sequential(
            nn.Linear(obs_space_dims, hidden_space1),
            nn.Tanh(),
            nn.Linear(hidden_space1, hidden_space2),
            nn.Tanh(),
        )
        self.policy_mean_net = nn.Sequential(nn.Linear(hidden_space2, action_space_dims))
        self.policy_stddev_net = nn.Sequential(nn.Linear(hidden_space2, action_space_dims))

    def forward(self, x: torch.Tensor):
        shared_features = self.shared_net(x.float())
        action_means = self.policy_mean_net(shared_features)
        action_stddevs = torch.log(1 + torch.exp(self.policy_stddev_net(shared_features)))
        return action_means, action_stddevs


class REINFORCE:
    """REINFORCE algorithm."""

    def __init__(self, obs_space_dims: int, action_space_dims: int):
        self.learning_rate = 8e-3
        self.gamma = 0.9
        self.eps = 1e-6
        self.probs = []
        self.rewards = []
        self.baseline = 0.0
        self.net = Policy_Network(obs_space_dims, action_space_dims)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=self.learning_rate)

    def sample_action(self, state: np.ndarray) -> float:
        state = torch.tensor(np.array([state]))
        action_means, action_stddevs = self.net(state)
        distrib = Normal(action_means[0] + self.eps, action_stddevs[0] + self.eps)
        action = distrib.sample()
        self.probs.append(distrib.log_prob(action))
        return action.numpy()[0]

    def update(self):
        """Updates the policy network's weights."""
        running_g = 0
        gs = []
        # Discounted return (backwards)
        for R in self.rewards[::-1]:
            running_g = R + self.gamma * running_g
            gs.insert(0, running_g)
        deltas = torch.tensor(gs, dtype=torch.float32)
        self.baseline = 0.95 * self.baseline + 0.05 * float(deltas.mean())
        deltas = (deltas - self.baseline) / 5.0

        log_probs = torch.stack(self.probs).squeeze()
        log_prob_mean = log_probs.mean()  # here
        loss = -torch.sum(log_prob_mean * deltas)

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.probs = []
        self.rewards = []


if __name__ == '__main__':
    total_num_episodes = 400
    for seed in [1]:
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        env = PointEnv(seed)
        agent = REINFORCE(2, 1)
        reward_over_episodes = deque(maxlen=100)
        for episode in range(total_num_episodes):
            obs = env.reset()
            done = False
            ret = 0.0
            while not done:
                action = agent.sample_action(obs)
                obs, reward, done = env.step(action)
                agent.rewards.append(reward)
                ret += reward
            reward_over_episodes.append(ret)
            agent.update()
            if (episode + 1) % 100 == 0:
                print("Episode:", episode + 1, "Average Reward: %.2f"
                      % np.mean(reward_over_episodes))
