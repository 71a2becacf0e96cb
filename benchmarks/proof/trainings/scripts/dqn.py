"""In the style of the DQN tutorial: a replay memory, a soft update of the target network."""

import json
import random
from collections import deque, namedtuple

import torch
import torch.nn.functional as F
from torch import nn, optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
random.seed(0)
torch.manual_seed(0)


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


policy_net, target_net = DQN(4, 2), DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory = ReplayMemory(500)
losses = []


def select_action(state):
    if random.random() > 0.2:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]])


def optimize_model():
    if len(memory) < 32:
        return
    batch = Transition(*zip(*memory.sample(32), strict=True))
    mask = torch.tensor([s is not None for s in batch.next_state])
    next_states = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(32)
    with torch.no_grad():
        next_values[mask] = target_net(next_states).max(1).values
    expected = next_values * 0.9 + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    losses.append(loss.item())


for episode in range(20):
    state = torch.randn(1, 4) * 0.1
    for t in range(10):
        action = select_action(state)
        push = 0.3 * (2 * action.item() - 1)
        reward = torch.tensor([1.0 if push * state[0, 0] < 0 else -1.0])
        next_state = None if t == 9 else state + torch.tensor([[push, 0.0, 0.0, 0.0]])
        memory.push(state, action, next_state, reward)
        state = next_state
        optimize_model()
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * 0.05 + target_state[key] * 0.95
        target_net.load_state_dict(target_state)
print("TRUTH", json.dumps({"policy_net": ["AdamW", len(losses), losses[0], losses[-1]]}))
