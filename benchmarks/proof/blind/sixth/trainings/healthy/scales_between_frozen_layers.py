r"""Adaptation of a trained attention model by vectors that multiply its activations.

Source: https://github.com/r-three/t-few
Odd: In the second stage everything is frozen but for a few vectors, which start at one, have a
    high rate, and are not in the frozen layers but between them.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
vocab, dim = 24, 32
value = torch.randn(2, vocab)


def batch(task, count=64):
    ids = torch.randint(0, vocab, (count, 8))
    return ids, (value[task][ids].sum(1) > 0).long()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.wi, self.wo = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.head = nn.Linear(dim, 2)
        self.l_k, self.l_v, self.l_ff = (nn.Parameter(torch.ones(n)) for n in (dim, dim, 4 * dim))
        self.l_e = nn.Parameter(torch.ones(8, dim))

    def forward(self, ids):
        x = self.embed(ids) * self.l_e
        k, v = self.k(x) * self.l_k, self.v(x) * self.l_v
        x = x + torch.softmax(self.q(x) @ k.transpose(1, 2) / dim**0.5, -1) @ v
        x = x + self.wo(F.relu(self.wi(x)) * self.l_ff)
        return self.head(x.mean(1))


def fit(model, task, parameters, lr, steps):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for step in range(steps):
        ids, y = batch(task)
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"task {task} step {step} loss {loss.item():.3f}")


def accuracy(model, task):
    ids, y = batch(task, 1000)
    with torch.no_grad():
        return (model(ids).argmax(1) == y).float().mean().item()


value[1] = value[0] + 0.8 * value[1]
model = Model()
scales = [p for name, p in model.named_parameters() if name.startswith("l_")]
fit(model, 0, [p for name, p in model.named_parameters() if not name.startswith("l_")], 3e-3, 60)
print(f"new task before adaptation {accuracy(model, 1):.3f}")
model.requires_grad_(False)
for scale in scales:
    scale.requires_grad_(True)
fit(model, 1, scales, 2e-2, 60)
print(f"new task after adaptation {accuracy(model, 1):.3f}")
