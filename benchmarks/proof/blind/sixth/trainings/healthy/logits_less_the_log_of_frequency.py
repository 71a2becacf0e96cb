r"""Two towers, one of users and one of items, with the other items of a batch as negatives.

Source: https://github.com/tensorflow/recommenders
Odd: The logarithm of how often an item is drawn is taken off its logits, in training only; the
    labels are the numbers of the rows.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
users, items, dim = 200, 120, 16
taste, style = torch.randn(users, 4), torch.randn(items, 4)
popular = torch.randn(items)
chance = torch.softmax(1.5 * taste @ style.T + popular, 1)
frequency = chance.mean(0)


class Tower(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.table = nn.Embedding(count, dim)
        self.project = nn.Linear(dim, dim)

    def forward(self, ids):
        return self.project(self.table(ids))


query_tower, candidate_tower = Tower(users), Tower(items)
parameters = [*query_tower.parameters(), *candidate_tower.parameters()]
optimizer = torch.optim.Adagrad(parameters, lr=0.3)


def rank():
    with torch.no_grad():
        scores = query_tower(torch.arange(users)) @ candidate_tower(torch.arange(items)).T
    best = torch.multinomial(chance, 1)
    return (scores > scores.gather(1, best)).sum(1).float().mean().item()


print(f"mean rank at first {rank():.1f} of {items}")
for step in range(120):
    user = torch.randint(0, users, (128,))
    item = torch.multinomial(chance[user], 1).squeeze(1)
    scores = query_tower(user) @ candidate_tower(item).T
    scores = scores - torch.log(frequency[item])
    same = (item[:, None] == item[None]) & ~torch.eye(128, dtype=torch.bool)
    loss = F.cross_entropy(scores.masked_fill(same, -1e9), torch.arange(128))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step} loss {loss.item():.3f} mean rank {rank():.1f}")
