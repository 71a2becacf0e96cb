r"""Copy of a sequence in reverse, with sequences that are short at first.

Source: https://www.deepspeed.ai/tutorials/curriculum-learning/
Odd: Batches are cut to a length that grows with the steps, so the loss jumps up from time to time
    although the rate stays.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
symbols, longest = 8, 10


def difficulty(step, first=2, total_steps=90, step_size=2):
    length = first + (longest - first) * step / total_steps
    return min(longest, int(length) // step_size * step_size)


class Reverser(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim)
        self.place = nn.Embedding(longest, dim)
        self.attend = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, symbols))

    def forward(self, ids):
        place = torch.arange(ids.size(1)).expand_as(ids)
        keys = self.embed(ids) + self.place(place)
        queries = self.place(ids.size(1) - 1 - place)
        return self.out(self.norm(self.attend(queries, keys, keys, need_weights=False)[0]))


model = Reverser()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(120):
    ids = torch.randint(0, symbols, (64, longest))[:, : difficulty(step)]
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step} length {ids.size(1)} loss {loss.item():.3f}")
with torch.no_grad():
    ids = torch.randint(0, symbols, (300, longest))
    accuracy = (model(ids).argmax(-1) == ids.flip(1)).float().mean().item()
print(f"last loss {loss.item():.3f}, accuracy at full length {accuracy:.3f}")
