r"""The worth of the places on a windy walk, learned from advantages with a trace.

Source: https://github.com/Farama-Foundation/Gymnasium/issues/1494
Fault: The loss of the critic goes back through the next values too, since the target is not
    detached.
Cause: detach|no_grad|stop.?grad
    |(target|next|bootstrap\w*|following) ?(value|state)?s?.{0,100}(gradient|backprop|graph|flow)
    |(gradient|backprop|graph)\w*.{0,100}(target|next|bootstrap|advantage|both)|residual gradient
Place: next_values|advantages|td_error|target|following
"""

import torch
from torch import nn

torch.manual_seed(102)
PLACES, GAMMA, LAM, WALKERS, STEPS = 12, 0.9, 0.5, 32, 8


class WindyWalk:
    def __init__(self):
        self.place = torch.randint(0, PLACES, (WALKERS,))
        jump = torch.rand(PLACES, PLACES) ** 6
        self.chance = jump / jump.sum(1, keepdim=True)
        self.pay = 2 * torch.randn(PLACES)

    def step(self):
        before = self.place
        self.place = torch.multinomial(self.chance[before], 1).squeeze(1)
        return before, self.pay[self.place]

    def true_worth(self):
        expected = self.chance @ self.pay
        return torch.linalg.solve(torch.eye(PLACES) - GAMMA * self.chance, expected)


class Critic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PLACES, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, place):
        return self.net(nn.functional.one_hot(place, PLACES).float()).squeeze(-1)


def advantages_of(rewards, value_preds, next_values):
    advantages, gae = [], 0.0
    for t in reversed(range(len(rewards))):
        td_error = rewards[t] + GAMMA * next_values[t] - value_preds[t]
        gae = td_error + GAMMA * LAM * gae  # here
        advantages.append(gae)
    return torch.stack(advantages[::-1])


walk, critic = WindyWalk(), Critic()
optimizer = torch.optim.RMSprop(critic.parameters(), lr=4e-3)
truth = walk.true_worth()
for update in range(400):
    places, rewards = [], []
    for _ in range(STEPS):
        place, reward = walk.step()
        places.append(place)
        rewards.append(reward)
    values = critic(torch.stack(places + [walk.place]))
    advantages = advantages_of(rewards, values[:-1], values[1:])
    critic_loss = advantages.pow(2).mean()
    optimizer.zero_grad()
    critic_loss.backward()
    optimizer.step()
    if update % 80 == 79:
        with torch.no_grad():
            learned = critic(torch.arange(PLACES))
        error = (learned - truth).square().mean().sqrt().item()
        spread = (learned.std() / truth.std()).item()
        print(f"{update + 1} loss {critic_loss.item():.3f} error {error:.3f} spread {spread:.3f}")
