r"""Trains a goal-conditioned Q-network on bit flipping, with hindsight relabelling.

Source: https://github.com/higgsfield-ai/higgsfield/issues/14
Fault: the target network is copied once before the training and never again, so the bootstrap
    values are those of a random network.
Cause: target\w*\b.*(updat|sync|copy|copied|stale|stays|frozen|never)|update_target
Place: target_model|update_target
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
random.seed(0)
NUM_BITS = 5


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(2 * NUM_BITS, 64)
        self.linear2 = nn.Linear(64, NUM_BITS)

    def forward(self, state, goal):
        return self.linear2(F.relu(self.linear1(torch.cat([state, goal], -1))))


def update_target(current_model, target_model):
    target_model.load_state_dict(current_model.state_dict())


def compute_td_error(batch, gamma=0.98):
    state, action, reward, next_state, done, goal = map(torch.stack, zip(*batch, strict=True))
    q_value = model(state, goal).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        next_q = target_model(next_state, goal).max(1).values
    loss = (q_value - (reward + gamma * next_q * (1 - done))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


model, target_model = Model(), Model()
update_target(model, target_model)  # here
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
buffer = []
for episode in range(120):
    state, goal = torch.randint(0, 2, (2, NUM_BITS)).float()
    steps = []
    for _ in range(NUM_BITS):
        greedy = model(state, goal).argmax().item()
        action = random.randrange(NUM_BITS) if random.random() < 0.3 else greedy
        next_state = state.clone()
        next_state[action] = 1 - next_state[action]
        steps.append((state, torch.tensor(action), next_state))
        state = next_state
    for s, a, n in steps:
        for g in (goal, state):
            hit = torch.tensor(float(torch.equal(n, g)))
            buffer.append((s, a, hit - 1, n, hit, g))
    if len(buffer) > 64:
        error = compute_td_error(random.sample(buffer, 64))
        if episode % 20 == 0:
            print(f"episode {episode} td error {error:.4f}")
