r"""Trains a mixed value function for two agents with a periodic copy to the target network.

Source: https://github.com/thesouther/MARL/issues/8
Fault: the target network loads its own state_dict instead of that of the evaluated network, so it
    keeps its random weights for the whole training.
Cause: target\w*\b.*\b(own|itself|updat|sync|copy|copied|never|random|frozen)|load_state_dict
Place: target_qmix_net|load_state_dict
"""

import torch
from torch import nn

torch.manual_seed(14)


class QMixNet(nn.Module):
    def __init__(self, n_agents=2, obs=6, actions=3, state=8, hidden=24):
        super().__init__()
        self.agent = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, actions))
        self.hyper_w = nn.Linear(state, n_agents)
        self.hyper_b = nn.Linear(state, 1)

    def q(self, obs):
        return self.agent(obs)

    def mix(self, q_values, states):
        return (q_values * self.hyper_w(states).abs()).sum(1) + self.hyper_b(states).squeeze(1)


class Policy:
    def __init__(self, target_update_cycle=15):
        self.eval_qmix_net = QMixNet()
        self.target_qmix_net = QMixNet()
        self.optimizer = torch.optim.RMSprop(self.eval_qmix_net.parameters(), lr=5e-3)
        self.cycle = target_update_cycle

    def learn(self, batch, train_step):
        obs, actions, rewards, next_obs, states, next_states = batch
        q = self.eval_qmix_net.q(obs).gather(2, actions[..., None]).squeeze(2)
        with torch.no_grad():
            q_next = self.target_qmix_net.q(next_obs).max(2).values
            total_next = self.target_qmix_net.mix(q_next, next_states)
        td_error = self.eval_qmix_net.mix(q, states) - (rewards + 0.95 * total_next)
        loss = td_error.square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if train_step > 0 and train_step % self.cycle == 0:
            self.target_qmix_net.load_state_dict(self.target_qmix_net.state_dict())  # here
        return loss.item()


def episode(n=64):
    obs, next_obs = torch.randn(2, n, 2, 6)
    actions = torch.randint(0, 3, (n, 2))
    rewards = (obs[..., :3].argmax(2) == actions).float().sum(1)
    states, next_states = obs.flatten(1)[:, :8], next_obs.flatten(1)[:, :8]
    return obs, actions, rewards, next_obs, states, next_states


policy = Policy()
for step in range(120):
    loss = policy.learn(episode(), step)
    if step % 20 == 0:
        print(f"step {step} td loss {loss:.4f}")
