r"""Deterministic policy gradient for a pursuer in the plane, with slowly moving targets.

Source: https://github.com/reinshift/MADDPG_Multi_UAV_Roundup/issues/10
Fault: The mixture is loaded into the trained networks, and the target networks never change.
Cause: target[_ ](net\w*|actor|critic)\w* .*(never|not|frozen|constant|unchanged|fixed|updated?)
    |(overwr\w+|load\w*|reset\w*|pull\w*|writ\w+) .*(actor|critic|online|trained|weights)
    |(actor|critic) .*(overwr\w+|reset|pulled|set back)
Place: \btarget_(actor|critic)\b|\bupdate_network_parameters\b
"""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class Agent:
    def __init__(self, state_dim=4, action_dim=2, tau=0.05, gamma=0.8):
        self.actor = nn.Sequential(
            nn.Linear(state_dim, 48), nn.ReLU(), nn.Linear(48, action_dim), nn.Tanh()
        )
        self.critic = nn.Sequential(
            nn.Linear(state_dim + action_dim, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.tau, self.gamma = tau, gamma
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=5e-3)

    def update_network_parameters(self):
        tau = self.tau
        pairs = ((self.actor, self.target_actor), (self.critic, self.target_critic))
        for net, target in pairs:
            state = dict(net.named_parameters())
            target_state = dict(target.named_parameters())
            for name in state:
                state[name] = tau * state[name].clone() + (1 - tau) * target_state[name].clone()
            net.load_state_dict(state)  # here

    def learn(self, state, action, reward, following):
        with torch.no_grad():
            joint = torch.cat([following, self.target_actor(following)], 1)
            y = reward + self.gamma * self.target_critic(joint)
        critic_loss = F.mse_loss(self.critic(torch.cat([state, action], 1)), y)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = -self.critic(torch.cat([state, self.actor(state)], 1)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.update_network_parameters()
        return critic_loss.item()


def play(state, action):
    """State: place of the pursuer and of the prey."""
    place = (state[:, :2] + 0.4 * action).clamp(-1, 1)
    following = torch.cat([place, state[:, 2:]], 1)
    return -(place - state[:, 2:]).norm(dim=1, keepdim=True), following


torch.manual_seed(0)
agent = Agent()
state = torch.rand(128, 4) * 2 - 1
for step in range(100):
    with torch.no_grad():
        action = (agent.actor(state) + 0.3 * torch.randn(128, 2)).clamp(-1, 1)
    reward, following = play(state, action)
    loss = agent.learn(state, action, reward, following)
    state = following if step % 5 else torch.rand(128, 4) * 2 - 1
state = torch.rand(500, 4) * 2 - 1
for _ in range(4):
    reward, state = play(state, agent.actor(state).detach())
print(f"critic loss {loss:.4f}, distance to the prey after 4 moves {-reward.mean().item():.4f}")
