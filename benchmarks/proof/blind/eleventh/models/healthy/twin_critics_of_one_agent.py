r"""The twin critics of a small library for reinforcement learning, and their loss.

Source: https://github.com/AI4Finance-Foundation/ElegantRL/issues/3
Healthy: calling the critic gives the value of net1 only, as TD3 uses it for the actor; the loss
    uses both nets by get__q1_q2, and the target is the smaller of the two, without gradient.
"""
from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F

STATE_DIM, ACTION_DIM = 5, 2


def layer_norm(layer, std=1.0, bias_const=1e-6):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)


class HardSwish(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu6 = nn.ReLU6()

    def forward(self, x):
        return self.relu6(x + 3.) / 6. * x


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim, mid_dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(state_dim, mid_dim), nn.ReLU(),
            nn.Linear(mid_dim, mid_dim), HardSwish(),
            nn.Linear(mid_dim, action_dim), nn.Tanh(),
        )
        layer_norm(self.net[-2], std=0.1)

    def forward(self, state, noise_std=0.0):
        action = self.net(state)
        if noise_std > 0:
            noise = (torch.randn_like(action) * noise_std).clamp(-0.5, 0.5)
            action = (action + noise).clamp(-1.0, 1.0)
        return action


class CriticTwin(nn.Module):
    def __init__(self, state_dim, action_dim, mid_dim):
        super().__init__()

        def build_critic_network():
            net = nn.Sequential(
                nn.Linear(state_dim + action_dim, mid_dim), nn.ReLU(),
                nn.Linear(mid_dim, mid_dim), HardSwish(),
                nn.Linear(mid_dim, 1),
            )
            layer_norm(net[-1], std=0.5)
            return net

        self.net1 = build_critic_network()
        self.net2 = build_critic_network()

    def forward(self, state, action):
        x = torch.cat((state, action), dim=1)
        q_value = self.net1(x)
        return q_value

    def get__q1_q2(self, state, action):
        x = torch.cat((state, action), dim=1)
        return self.net1(x), self.net2(x)


class AgentTD3(nn.Module):
    def __init__(self, net_dim=48, gamma=0.9):
        super().__init__()
        self.gamma = gamma
        self.act = Actor(STATE_DIM, ACTION_DIM, net_dim)
        self.cri = CriticTwin(STATE_DIM, ACTION_DIM, net_dim)
        self.act_target = deepcopy(self.act)
        self.cri_target = deepcopy(self.cri)
        for p in list(self.act_target.parameters()) + list(self.cri_target.parameters()):
            p.requires_grad_(False)

    @torch.no_grad()
    def soft_target_update(self, tau=0.05):
        for target, online in ((self.cri_target, self.cri), (self.act_target, self.act)):
            for tar, cur in zip(target.parameters(), online.parameters()):
                tar.lerp_(cur, tau)

    def actor_loss(self, state):
        return -self.cri(state, self.act(state)).mean()

    def forward(self, state, action, reward, next_state):
        with torch.no_grad():
            next_a = self.act_target(next_state, noise_std=0.2)
            next_q = torch.min(*self.cri_target.get__q1_q2(next_state, next_a))
            q_label = reward + self.gamma * next_q
        q1, q2 = self.cri.get__q1_q2(state, action)
        critic_loss = F.smooth_l1_loss(q1, q_label) + F.smooth_l1_loss(q2, q_label)

        for p in self.cri.parameters():
            p.requires_grad_(False)
        actor_loss = self.actor_loss(state)
        for p in self.cri.parameters():
            p.requires_grad_(True)
        return critic_loss + actor_loss


def make_transitions(n=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    state = torch.randn(n, STATE_DIM, generator=g)
    action = 2 * torch.rand(n, ACTION_DIM, generator=g) - 1
    wish = torch.tanh(state[:, :2] - state[:, 2:4])
    reward = 1 - ((action - wish) ** 2).sum(1, keepdim=True)
    next_state = 0.8 * state + 0.6 * torch.randn(n, STATE_DIM, generator=g)
    return state, action, reward, next_state


def build():
    torch.manual_seed(0)
    return AgentTD3()


def example_inputs():
    return make_transitions(32)
