r"""The next item of a visit to a shop, with many visits side by side.

Source: https://github.com/paxcema/KerasGRU4Rec/issues/1
Fault: The state of a finished visit is cleared after the step, when the new visit has already
    used it.
Cause: (hidden|state|memory)\w*.{0,120}(reset|clear|zero|carried|leak|previous|old|late|after|stale)
    |(reset|clear)\w*.{0,80}(late|after|before|order|state|hidden)
    |(previous|old|other|finished|earlier) (visit|session|sequence).{0,80}(state|leak|carr|hidden)
Place: hidden|state|mask|reset|finished
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(94)
ITEMS, SIDE_BY_SIDE, WIDTH = 30, 40, 48


class Visits:
    def __init__(self):
        self.permutation = torch.stack([torch.randperm(ITEMS) for _ in range(ITEMS)])
        self.first = torch.randint(0, ITEMS, (SIDE_BY_SIDE,))
        self.item = self.first.clone()
        self.left = torch.randint(1, 4, (SIDE_BY_SIDE,))

    def step(self):
        finished = self.left == 0
        fresh = torch.randint(0, ITEMS, (SIDE_BY_SIDE,))
        self.first = torch.where(finished, fresh, self.first)
        self.item = torch.where(finished, fresh, self.item)
        self.left = torch.where(finished, torch.randint(1, 4, (SIDE_BY_SIDE,)), self.left - 1)
        now = self.item
        self.item = (self.permutation[self.first, now] + 1) % ITEMS
        return now, self.item, finished


class Gru4Rec(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(ITEMS, WIDTH)
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, ITEMS)

    def forward(self, item, hidden):
        hidden = self.cell(self.item(item), hidden)
        return self.out(hidden), hidden


visits, model = Visits(), Gru4Rec()
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
hidden = torch.zeros(SIDE_BY_SIDE, WIDTH)
total = first_total = hits = first_hits = 0.0
for chunk in range(400):
    hidden = hidden.detach()
    loss = 0.0
    for _ in range(4):
        item, following, finished = visits.step()
        logits, hidden = model(item, hidden)
        hidden = hidden * (~finished)[:, None]  # here
        loss = loss + F.cross_entropy(logits, following) / 4
        right = (logits.argmax(1) == following).float()
        hits, total = hits + right.sum().item(), total + len(right)
        first_hits += (right * finished).sum().item()
        first_total += finished.sum().item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if chunk % 80 == 79:
        print(
            f"{chunk + 1} loss {loss.item():.3f} hits {hits / total:.3f} "
            f"hits at the first item {first_hits / first_total:.3f}"
        )
        total = first_total = hits = first_hits = 0.0
