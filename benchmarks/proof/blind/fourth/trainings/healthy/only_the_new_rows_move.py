r"""New words are added to a fixed vocabulary; only their vectors are to move.

Source: https://github.com/kohjingyu/fromage/issues/6
Odd: The whole embedding needs gradients; those of the old words are set to 0 before each step, and
    nothing decays.
"""

import torch
from torch import nn

torch.manual_seed(0)
old, new, dim = 40, 3, 16
embedding = nn.Embedding(old + new, dim)
body = nn.GRU(dim, 24, batch_first=True).requires_grad_(False)
head = nn.Linear(24, 2).requires_grad_(False)
ids = torch.randint(0, old, (256, 6))
labels = torch.randint(0, 2, (256,))
ids[:, 5] = old + labels
before = embedding.weight.detach().clone()
optimizer = torch.optim.AdamW(embedding.parameters(), lr=0.1, weight_decay=0.0)
for step in range(50):
    index = torch.randint(0, 256, (32,))
    hidden = body(embedding(ids[index]))[0][:, -1]
    loss = nn.functional.cross_entropy(10 * head(hidden), labels[index])
    optimizer.zero_grad()
    loss.backward()
    embedding.weight.grad[:old] = 0
    optimizer.step()
moved = (embedding.weight - before)[:old].abs().max().item()
print(f"loss {loss.item():.3f}, old words moved by {moved}")
