r"""Recurrent agent that imitates a teacher which remembers the first sign of an episode.

Source: https://github.com/tensorforce/tensorforce/pull/111
Fault: One less the rate is given as rate of dropout, so 95 of 100 features are dropped.
Cause: dropout|drop(s|ped)? .*(most|almost|95|features)
Place: \binternal\.dropout\b|\bdropout\b
"""

import torch
from torch import nn


class InternalLSTM(nn.Module):
    def __init__(self, size, hidden, dropout=None):
        super().__init__()
        self.cell = nn.LSTM(size, hidden, batch_first=True)
        self.dropout = nn.Dropout(1.0 - dropout) if dropout else nn.Identity()  # here

    def forward(self, x):
        return self.dropout(self.cell(x)[0])


class Agent(nn.Module):
    def __init__(self, states=6, actions=4, spec=None):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(states, 32), nn.Tanh())
        self.internal = InternalLSTM(32, **spec)
        self.policy = nn.Linear(spec["hidden"], actions)

    def forward(self, states):
        return self.policy(self.internal(self.dense(states)))


def episodes(count, length=8):
    states = 0.3 * torch.randn(count, length, 6)
    sign = torch.randint(0, 4, (count,))
    states[torch.arange(count), 0, sign] += 2
    return states, sign[:, None].expand(count, length)


torch.manual_seed(0)
agent = Agent(spec={"hidden": 32, "dropout": 0.05})
optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3)
for update in range(80):
    states, actions = episodes(64)
    logits = agent(states)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), actions.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 20 == 0:
        print(f"update {update} loss {loss.item():.3f}")
agent.eval()
with torch.no_grad():
    states, actions = episodes(256)
    hits = (agent(states).argmax(-1) == actions).float().mean().item()
print(f"last loss {loss.item():.3f}, agreement with the teacher {hits:.3f}")
