"""Numbers put in order by a network whose outputs are places of its own input.

Source: https://github.com/shirgur/PointerNet
Odd: There is no output layer with a fixed number of classes: the logits are the scores of the
    attention, and places that were used are set to minus infinity.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(213)


class PointerNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.encoder = nn.LSTM(1, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.decoder = nn.LSTMCell(1, hidden)
        self.W1 = nn.Linear(2 * hidden, hidden, bias=False)
        self.W2 = nn.Linear(hidden, hidden, bias=False)
        self.V = nn.Linear(hidden, 1, bias=False)

    def forward(self, numbers, order=None):
        context, (h, _) = self.encoder(numbers[..., None])
        keys = self.W1(context)
        hidden = torch.tanh(self.bridge(torch.cat([h[0], h[1]], 1)))
        cell = torch.zeros_like(hidden)
        last = torch.zeros(len(numbers), 1)
        used = torch.zeros_like(numbers, dtype=torch.bool)
        logits, chosen = [], []
        for step in range(numbers.shape[1]):
            hidden, cell = self.decoder(last, (hidden, cell))
            score = self.V(torch.tanh(keys + self.W2(hidden)[:, None])).squeeze(2)
            score = score.masked_fill(used, float("-inf"))
            place = score.argmax(1) if order is None else order[:, step]
            used = used.scatter(1, place[:, None], True)
            last = numbers.gather(1, place[:, None])
            logits.append(score)
            chosen.append(place)
        return torch.stack(logits, 1), torch.stack(chosen, 1)


def lists(count, length):
    numbers = torch.rand(count, length)
    return numbers, numbers.argsort(1)


model = PointerNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    numbers, order = lists(64, int(torch.randint(4, 8, ())))
    logits, _ = model(numbers, order)
    loss = F.cross_entropy(logits.flatten(0, 1), order.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} numbers {numbers.shape[1]} loss {loss.item():.4f}")
with torch.no_grad():
    for length in (5, 7):
        numbers, order = lists(500, length)
        _, chosen = model(numbers)
        print(f"{length} numbers: share of right places {(chosen == order).float().mean():.3f}")
