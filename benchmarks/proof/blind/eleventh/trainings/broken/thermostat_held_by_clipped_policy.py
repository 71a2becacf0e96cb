r"""PPO from scratch for a thermostat: rollout buffer, GAE, minibatches and an actor critic.

Source: https://github.com/DLR-RM/stable-baselines3/pull/1028
Fault: the rollout of 129 steps leaves a last minibatch of one sample; its advantage is normalised
    with the standard deviation of a single number, which is NaN, and all weights become NaN.
Cause: (\bstd\b|standard deviation|variance|normali[sz]\w+)\b.*(\bone\b|single|\b1 (element
    |sample|row|entry|value)|lone|size 1|\bnan\b|undefined|unbiased|n ?- ?1|degrees of freedom)
    |(mini-?)?batch\b.*(of (size )?(one|1)\b|single|one sample|one element|remainder|left.?over)
    |\b(one|single|1|lone)[- ](sample|element|item|row|number|transition|entry)\b.*(\bstd\b
    |deviation|normali|\bnan\b)
    |advantages?\b.*(\bnan\b|\bstd\b|normali[sz]\w+)
Place: advantages?|std|n_steps|batch_size|get\b|train\b|normalize_advantage
"""
import math

import numpy as np
import torch
import torch.nn as nn


class Thermostat:
    """room temperature follows the heater and the weather; reward is minus the distance to 20"""

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.temp = self.rng.uniform(12, 24)
        self.outside = self.rng.uniform(0, 10)
        self.t = 0
        return self._obs()

    def _obs(self):
        return np.array([(self.temp - 20) / 5, (self.outside - 5) / 5], dtype=np.float32)

    def step(self, action):
        heat = float(np.clip(action, -1, 1)) + 1.0
        self.temp += 1.6 * heat - 0.12 * (self.temp - self.outside)
        self.temp += self.rng.normal(0, 0.1)
        self.t += 1
        reward = -abs(self.temp - 20) / 5
        return self._obs(), reward, self.t >= 40


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=2, hidden=32):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden),
                                nn.Tanh(), nn.Linear(hidden, 1))
        self.vf = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden),
                                nn.Tanh(), nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.full((1,), -0.5))

    def log_prob(self, mean, action):
        var = (2 * self.log_std).exp()
        return (-(action - mean) ** 2 / (2 * var) - self.log_std
                - 0.5 * math.log(2 * math.pi)).sum(-1)

    def act(self, obs):
        with torch.no_grad():
            mean = self.pi(obs)
            action = mean + self.log_std.exp() * torch.randn_like(mean)
            return action, self.log_prob(mean, action), self.vf(obs).squeeze(-1)

    def evaluate_actions(self, obs, actions):
        mean = self.pi(obs)
        entropy = 0.5 + 0.5 * math.log(2 * math.pi) + self.log_std
        return self.vf(obs).squeeze(-1), self.log_prob(mean, actions), entropy


class RolloutBuffer:
    def __init__(self, n_steps, gamma=0.95, gae_lambda=0.9):
        self.n_steps, self.gamma, self.gae_lambda = n_steps, gamma, gae_lambda
        self.reset()

    def reset(self):
        self.obs, self.actions, self.log_probs = [], [], []
        self.values, self.rewards, self.dones = [], [], []

    def add(self, obs, action, log_prob, value, reward, done):
        self.obs.append(obs)
        self.actions.append(action)
        self.log_probs.append(log_prob)
        self.values.append(value)
        self.rewards.append(reward)
        self.dones.append(done)

    def compute(self, last_value):
        adv, last = torch.zeros(self.n_steps), 0.0
        values = self.values + [last_value]
        for t in reversed(range(self.n_steps)):
            nonterminal = 1.0 - float(self.dones[t])
            delta = self.rewards[t] + self.gamma * values[t + 1] * nonterminal - values[t]
            last = delta + self.gamma * self.gae_lambda * nonterminal * last
            adv[t] = last
        self.advantages = adv
        self.returns = adv + torch.tensor(self.values)

    def get(self, batch_size):
        obs, actions = torch.stack(self.obs), torch.stack(self.actions)
        log_probs = torch.stack(self.log_probs)
        indices = torch.randperm(self.n_steps)
        for start in range(0, self.n_steps, batch_size):
            i = indices[start:start + batch_size]
            yield obs[i], actions[i], log_probs[i], self.advantages[i], self.returns[i]


class PPO:
    def __init__(self, env, learning_rate=2e-3, n_steps=129, batch_size=32, n_epochs=6,
                 clip_range=0.2, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5):
        self.env = env
        self.policy = ActorCritic()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=learning_rate)
        self.buffer = RolloutBuffer(n_steps)
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.clip_range, self.ent_coef, self.vf_coef = clip_range, ent_coef, vf_coef
        self.max_grad_norm = max_grad_norm
        self.last_obs = torch.from_numpy(env.reset())

    def collect_rollouts(self):
        self.buffer.reset()
        for _ in range(self.n_steps):
            action, log_prob, value = self.policy.act(self.last_obs)
            obs, reward, done = self.env.step(action.numpy()[0])
            self.buffer.add(self.last_obs, action, log_prob, float(value), reward, done)
            self.last_obs = torch.from_numpy(self.env.reset() if done else obs)
        _, _, last_value = self.policy.act(self.last_obs)
        self.buffer.compute(float(last_value))
        return float(np.mean(self.buffer.rewards))

    def train(self):
        for epoch in range(self.n_epochs):
            for obs, actions, old_log_prob, advantages, returns in self.buffer.get(self.batch_size):
                values, log_prob, entropy = self.policy.evaluate_actions(obs, actions)
                advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)  # here

                ratio = torch.exp(log_prob - old_log_prob)
                policy_loss_1 = advantages * ratio
                policy_loss_2 = advantages * torch.clamp(ratio, 1 - self.clip_range,
                                                         1 + self.clip_range)
                policy_loss = -torch.min(policy_loss_1, policy_loss_2).mean()
                value_loss = ((returns - values) ** 2).mean()
                loss = policy_loss - self.ent_coef * entropy.mean() + self.vf_coef * value_loss

                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.optimizer.step()
        return loss.item()

    def learn(self, total_timesteps):
        done = 0
        while done < total_timesteps:
            mean_reward = self.collect_rollouts()
            loss = self.train()
            done += self.n_steps
            if (done // self.n_steps) % 5 == 1:
                print('timesteps %5d mean step reward %.3f loss %.4f' % (done, mean_reward, loss))
        return self


if __name__ == '__main__':
    torch.manual_seed(0)
    model = PPO(Thermostat(0)).learn(4000)
    print('action at 15 degrees', model.policy.act(torch.tensor([-1.0, 0.0]))[0].tolist())
