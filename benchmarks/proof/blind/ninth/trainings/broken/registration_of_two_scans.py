r"""Agent that shifts one scan step by step until it lies over the other.

Source: https://github.com/Magnety/Multi_modal_Image/issues/4
Fault: The stored steps are (state, action, reward, next_state, done), but they are unpacked with
    the next state before the reward, so the reward is taken for the state and the other way
    round.
Cause: unpack|(reward|next.?state).{0,80}(swap|exchang|interchang|mixed|confus|wrong order|order
    |mistak|taken (for|as)|other way)|(wrong|different|another|mismatch).{0,20}order
    |order.{0,60}(wrong|differ|mismatch|not match|does not)|(stored|pushed|appended
    |saved).{0,60}(order|as)
Place: next_state|reward|batch|buffer|sample|zip|push|memory|state
"""

import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(71)
random.seed(71)
REACH, GAMMA = 5, 0.9


class Scans:
    """The offset of the moving scan between -REACH and REACH, 0 is where it should lie."""

    def reset(self):
        self.offset = random.choice([o for o in range(-REACH, REACH + 1) if o])
        self.time = 0
        return self.offset / REACH

    def step(self, action):
        before = abs(self.offset)
        self.offset = max(-REACH, min(REACH, self.offset + (1 if action else -1)))
        self.time += 1
        reward = float(before - abs(self.offset))
        done = self.offset == 0
        return self.offset / REACH, reward, done or self.time >= 15, done


def network():
    return nn.Sequential(
        nn.Linear(1, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2)
    )


policy, target = network(), network()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
buffer = deque(maxlen=2000)
env = Scans()


def act(state, epsilon):
    if random.random() < epsilon:
        return random.randrange(2)
    with torch.no_grad():
        return policy(torch.tensor([[state]])).argmax().item()


def learn(size=64):
    batch = random.sample(buffer, size)
    state, action, next_state, reward, done = map(torch.tensor, zip(*batch, strict=True))  # here
    value = policy(state[:, None]).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        best = target(next_state[:, None]).max(1).values
    loss = nn.functional.smooth_l1_loss(value, reward + GAMMA * best * (1 - done))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


found, count, state = 0, 0, env.reset()
for step in range(1200):
    action = act(state, epsilon=max(0.1, 1 - step / 500))
    next_state, reward, over, done = env.step(action)
    buffer.append((state, action, reward, next_state, float(done)))
    state = next_state
    if over:
        found, count, state = found + done, count + 1, env.reset()
    if len(buffer) >= 200 and step % 3 == 0:
        loss = learn()
    if step % 60 == 59:
        target.load_state_dict(policy.state_dict())
    if step % 300 == 299:
        print(f"step {step + 1} loss {loss:.4f} aligned {found} of {count} pairs")
        found, count = 0, 0
