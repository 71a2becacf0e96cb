r"""The next note of a tune by attention over the notes before it.

Source: https://github.com/facebookresearch/ParlAI/pull/3068
Fault: The result of masked_fill is thrown away, so that the notes to come are not hidden.
Cause: masked_fill|in.?place
    |(mask).{0,80}(no effect|not applied|ignored|discard|thrown|unused|lost|nothing)
    |(future|later|next|to come|ahead|following).{0,60}(see|visible|leak|attend|look|token|note)
    |(leak|causal|see)\w*.{0,60}(future|mask|answer|target)
Place: masked_fill|mask|scores
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(55)
NOTES, LENGTH, WIDTH = 16, 20, 32


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.o = nn.Linear(width, width)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.size(-1))
        mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores.masked_fill(mask, float("-inf"))  # here
        return self.o(scores.softmax(-1) @ self.v(x))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.feed = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class TuneModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.note = nn.Embedding(NOTES, WIDTH)
        self.place = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(WIDTH), Block(WIDTH))
        self.head = nn.Linear(WIDTH, NOTES)

    def forward(self, notes):
        place = self.place(torch.arange(notes.size(1)))
        return self.head(self.blocks(self.note(notes) + place))


steps = torch.tensor([0, 1, 2, 5, -1, -3])


def tunes(count):
    notes = [torch.randint(0, NOTES, (count,))]
    for _ in range(LENGTH):
        notes.append((notes[-1] + steps[torch.randint(0, len(steps), (count,))]) % NOTES)
    return torch.stack(notes, 1)


@torch.no_grad()
def written(model, count=200):
    start = tunes(count)[:, :4]
    for _ in range(LENGTH - 4):
        logits = model(start)[:, -1]
        new = torch.distributions.Categorical(logits=logits).sample()
        start = torch.cat([start, new[:, None]], 1)
    jump = (start[:, 4:] - start[:, 3:-1]) % NOTES
    return torch.isin(jump, steps % NOTES).float().mean().item()


model = TuneModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(220):
    batch = tunes(48)
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 44 == 43:
        print(f"{step + 1} loss {loss.item():.3f} allowed steps in written {written(model):.3f}")
