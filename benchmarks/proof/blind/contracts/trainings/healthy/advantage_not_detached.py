r"""A training of `ActorCritic`.

Source: https://docs.pytorch.org/tutorials/intermediate/reinforcement_ppo.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(224)
S, A, GAMMA = 6, 3, 0.9
P = torch.softmax(3 * torch.randn(S, A, S), -1)
R = torch.randn(S, A)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(S, 32), nn.Tanh())
        self.pi = nn.Linear(32, A)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(nn.functional.one_hot(s, S).float())
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
state = torch.randint(S, (32,))
for it in range(150):
    dist, value = net(state)
    action = dist.sample()
    nxt = torch.multinomial(P[state, action], 1).squeeze(1)
    with torch.no_grad():
        target = R[state, action] + GAMMA * net(nxt)[1]
    advantage = target - value
    actor_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 29:
        print(f"{it + 1} reward {R[state, action].mean().item():.3f} value {value.mean().item():.3f}")
    state = nxt
