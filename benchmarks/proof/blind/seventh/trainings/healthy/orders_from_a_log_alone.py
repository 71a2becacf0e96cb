r"""How much to order, learned from a log of somebody else's decisions without trying anything.

Source: https://github.com/aviralkumar2907/CQL
Odd: A term pushes down the values of all actions and raises only those in the log, so that the
    learned values lie below the returns on purpose; the target network moves by half a percent
    per step.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(27)
GAMMA, ALPHA, ACTIONS = 0.9, 0.5, 5


def shop(stock, action):
    demand = torch.randint(0, 4, stock.shape).float()
    sold = torch.minimum(stock + action, demand)
    left = (stock + action - sold).clamp(max=6)
    return left, 2.0 * sold - 0.6 * left - 0.5 * action


def clerk(stock):
    wished = (3 - stock).clamp(0, ACTIONS - 1).long()
    random = torch.randint(0, ACTIONS, stock.shape)
    return torch.where(torch.rand(stock.shape) < 0.5, random, wished)


def encode(stock):
    return F.one_hot(stock.long(), 7).float()


def log(count=4000):
    stock = torch.randint(0, 7, (count,)).float()
    action = clerk(stock)
    after, reward = shop(stock, action.float())
    return stock, action, reward, after


@torch.no_grad()
def profit(policy, weeks=30, shops=400):
    stock, total = torch.zeros(shops), 0.0
    for _ in range(weeks):
        stock, reward = shop(stock, policy(stock).float())
        total += reward.mean().item()
    return total / weeks


def make():
    return nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, ACTIONS))


stock, action, reward, after = log()
q, target = make(), make()
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
print(f"profit of the clerk {profit(clerk):.3f}")
for step in range(400):
    rows = torch.randint(0, len(stock), (128,))
    values = q(encode(stock[rows]))
    chosen = values.gather(1, action[rows, None]).squeeze(1)
    with torch.no_grad():
        goal = reward[rows] + GAMMA * target(encode(after[rows])).max(1).values
    bellman = F.mse_loss(chosen, goal)
    conservative = (values.logsumexp(1) - chosen).mean()
    loss = bellman + ALPHA * conservative
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), q.parameters()):
            slow.lerp_(fast, 0.005)
    if step % 80 == 79:
        learned = profit(lambda s: q(encode(s)).argmax(1))
        print(
            f"{step + 1} bellman {bellman.item():.3f} gap {conservative.item():.3f} "
            f"profit {learned:.3f}"
        )
