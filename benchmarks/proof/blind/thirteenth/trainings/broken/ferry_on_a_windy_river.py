r"""Learns from logged crossings how good each rudder is at each place of a windy river.

Source: https://pytorch.org/tutorials/intermediate/reinforcement_q_learning.html
Fault: The target of the temporal difference is computed with the same net and is not detached,
    so the gradient also runs through the value of the next state; with chance in the moves this
    lowers another error than that of Bellman and the values come out wrong.
Cause: target.*(gradient|detach|no_grad|graph|backprop|differentia)|(detach|no_grad).*target
    |gradient.*(target|next (state|value))|semi-?gradient|residual gradient|bootstrap
Place: target|goal|loss|learn
"""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
PLACES, RUDDERS, GAMMA, WIND = 9, 2, 0.9, 0.35


def cross(place, rudder):
    n = len(place)
    move = rudder * 2 - 1
    move = torch.where(torch.rand(n) < WIND, -move, move)
    after = (place + move).clamp(0, PLACES - 1)
    reward = (after == PLACES - 1).float() - 0.3 * (after == 0).float()
    done = (after == PLACES - 1).float()
    return after, reward, done


def exact_values():
    q = torch.zeros(PLACES, RUDDERS)
    for _ in range(400):
        best = q.max(1).values
        for s in range(PLACES):
            for a in range(RUDDERS):
                total = 0.0
                for move, p in ((2 * a - 1, 1 - WIND), (1 - 2 * a, WIND)):
                    t = min(max(s + move, 0), PLACES - 1)
                    end = float(t == PLACES - 1)
                    total += p * (end - 0.3 * (t == 0) + GAMMA * (1 - end) * best[t].item())
                q[s, a] = total
    return q


class RudderNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PLACES, 64), nn.Tanh(), nn.Linear(64, RUDDERS))

    def forward(self, place):
        return self.net(F.one_hot(place, PLACES).float())


def learn(steps=2000):
    log_place = torch.randint(0, PLACES - 1, (6000,))
    log_rudder = torch.randint(0, RUDDERS, (6000,))
    log_after, log_reward, log_done = cross(log_place, log_rudder)
    net = RudderNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(steps):
        i = torch.randint(0, len(log_place), (128,))
        value = net(log_place[i]).gather(1, log_rudder[i].unsqueeze(1)).squeeze(1)
        ahead = net(log_after[i]).max(1).values
        goal = log_reward[i] + GAMMA * (1 - log_done[i]) * ahead  # here
        loss = F.mse_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 499:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    return net


net = learn()
truth = exact_values()[:-1]
with torch.no_grad():
    found = net(torch.arange(PLACES - 1))
print(f"mean error of the values: {(found - truth).abs().mean().item():.3f}")
print(f"places with the right rudder: {(found.argmax(1) == truth.argmax(1)).sum().item()} of 8")
