r"""Double Q-learning on a noisy chain with a policy net and a target net.

Source: https://github.com/datawhalechina/easy-rl/pull/117
Fault: Both names are the same network and the target is not detached, so the target moves with each
    step and gets the gradient; the values do not settle.
Cause: same (network|net|object|module|model)|alias|deepcopy|copy|detach|target\w*.*(grad|move|same)
Place: target_net|policy_net
"""

import random

import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=48):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(n_states, hidden_dim), nn.Linear(hidden_dim, n_actions)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class DoubleDQN:
    def __init__(self, model, gamma=0.95):
        self.policy_net = model
        self.target_net = model  # here
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=3e-3)
        self.gamma = gamma

    def update(self, batch):
        s, a, r, s2, d = (torch.tensor(c) for c in zip(*batch, strict=True))
        q = self.policy_net(encode(s)).gather(1, a[:, None]).squeeze(1)
        best = self.policy_net(encode(s2)).argmax(1, keepdim=True)
        q_next = self.target_net(encode(s2)).gather(1, best).squeeze(1)
        loss = F.mse_loss(q, r + self.gamma * q_next * (1 - d))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def sync(self):
        self.target_net.load_state_dict(self.policy_net.state_dict())


def encode(s):
    return torch.stack([(s == k).float() + 0.3 * (s > k).float() for k in range(10)], 1)


random.seed(0)
torch.manual_seed(0)
agent = DoubleDQN(MLP(10, 2))
memory = []
for _ in range(600):
    s, a = random.randrange(9), random.randrange(2)
    s2 = max(0, s + (1 if a else -1))
    memory.append((s, a, float(s2 == 9) * 10, s2, float(s2 == 9)))
true_q = torch.tensor([10 * 0.95 ** (8 - s) for s in range(9)])
for i in range(300):
    loss = agent.update(random.sample(memory, 64))
    if i % 10 == 0:
        agent.sync()
    if i % 60 == 59:
        q = agent.policy_net(encode(torch.arange(9))).max(1).values
        print(f"{i} loss {loss:.4f} mean Q {q.mean():.2f} of {true_q.mean():.2f}")
