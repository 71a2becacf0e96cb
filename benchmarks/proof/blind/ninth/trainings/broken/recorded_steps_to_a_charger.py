r"""Values of actions from recorded steps of a robot on its way to a charger.

Source: https://github.com/LAMDA-RL/PRDC/pull/1
Fault: The shift and scale that are meant for the reward are applied to the next state, which
    stands third in the tuple, so the reward stays as it is and the next states are distorted.
Cause: next.?state.{0,100}(instead|scal|shift|transform|distort|not the reward|wrong)
    |reward.{0,100}(not|never|un)\s?.{0,20}(scal|transform|shift|normali)|(wrong|third
    |index).{0,60}(element|index|position|tuple|field|entry)|batch\[2\]|transition\[2\]
    |scal.{0,80}(next|instead of the reward)
Place: batch\[?2?\]?|sample|next_state|reward|scale|transition|buffer
"""

import torch
from torch import nn

torch.manual_seed(51)
LENGTH, GAMMA = 12, 0.95


class Buffer:
    """Steps of a random walk with states between 0 and 1, the charger is at the far end."""

    def __init__(self, count=4000, scale=4.0, shift=0.0):
        self.scale, self.shift = scale, shift
        place = torch.randint(0, LENGTH - 1, (count,))
        self.action = torch.randint(0, 2, (count,))
        arrive = (place + 2 * self.action - 1).clamp(0, LENGTH - 1)
        self.state, self.next_state = place / (LENGTH - 1), arrive / (LENGTH - 1)
        self.done = (arrive == LENGTH - 1).float()
        self.reward = 0.05 * self.done

    def sample(self, size=256):
        ind = torch.randint(0, len(self.state), (size,))
        batch = [
            self.state[ind, None],
            self.action[ind],
            self.next_state[ind, None],
            self.reward[ind],
            self.done[ind],
        ]
        batch[2] = self.scale * (batch[2] + self.shift)  # here
        return batch


def network():
    return nn.Sequential(
        nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )


critic, target = network(), network()
target.load_state_dict(critic.state_dict())
optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3)
buffer = Buffer()


def walk():
    place, steps = 0, 0
    while place < LENGTH - 1 and steps < 40:
        with torch.no_grad():
            action = critic(torch.tensor([[place / (LENGTH - 1)]])).argmax().item()
        place, steps = max(place + 2 * action - 1, 0), steps + 1
    return steps


for step in range(400):
    state, action, next_state, reward, done = buffer.sample()
    with torch.no_grad():
        goal = reward + GAMMA * (1 - done) * target(next_state).max(1).values
    value = critic(state).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(target.parameters(), critic.parameters(), strict=True):
            old.lerp_(new, 0.05)
    if step % 80 == 79:
        with torch.no_grad():
            start = critic(torch.zeros(1, 1)).max().item()
        print(f"step {step + 1} loss {loss.item():.5f} value of the start {start:.3f}")
print(f"steps to the charger {walk()}, value by hand {0.05 * buffer.scale * GAMMA**10:.3f}")
