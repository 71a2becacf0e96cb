"""Features of recordings from the task to tell the right future from the futures of others.

Source: https://github.com/jefflai108/Contrastive-Predictive-Coding-PyTorch
Odd: There are no labels; the targets are the places in the batch, the starting point is drawn anew
    in each step, and what is predicted is itself an output of the network that is being trained.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(227)
LENGTH, AHEAD = 64, 3


def recordings(count=48):
    speaker = torch.randint(0, 4, (count,))
    t = torch.arange(LENGTH) / 8
    pitch = (1.0 + 0.6 * speaker)[:, None] * (0.95 + 0.1 * torch.rand(count, 1))
    wave = torch.sin(2 * math.pi * pitch * t / 4 + 6.3 * torch.rand(count, 1))
    overtone = 0.5 * torch.sin(6 * math.pi * pitch * t / 4 + 6.3 * torch.rand(count, 1))
    return (wave + overtone + 0.3 * torch.randn(count, LENGTH))[:, None], speaker


class CDCK(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, width, 8, stride=4, padding=2),
            nn.ReLU(),
            nn.Conv1d(width, width, 1),
        )
        self.gru = nn.GRU(width, width, batch_first=True)
        self.Wk = nn.ModuleList([nn.Linear(width, width) for _ in range(AHEAD)])

    def forward(self, x):
        z = self.encoder(x).transpose(1, 2)
        t = int(torch.randint(4, z.shape[1] - AHEAD, ()))
        context = self.gru(z[:, : t + 1])[0][:, -1]
        nce, labels = 0.0, torch.arange(len(x))
        for k, predict in enumerate(self.Wk, 1):
            total = z[:, t + k] @ predict(context).T
            nce = nce + F.cross_entropy(total, labels) / AHEAD
        return nce

    def represent(self, x):
        return self.gru(self.encoder(x).transpose(1, 2))[0].mean(1)


def probe(model):
    with torch.no_grad():
        (x, y), (tx, ty) = recordings(200), recordings(400)
        x, tx = model.represent(x), model.represent(tx)
    head = nn.Linear(x.shape[1], 4)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(80):
        loss = F.cross_entropy(head(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (head(tx).argmax(1) == ty).float().mean().item()


model = CDCK()
print(f"speakers from the untrained features {probe(model):.3f}")
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    x, _ = recordings()
    loss = model(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} nce {loss.item():.4f} (by chance {math.log(48):.4f})")
print(f"nce {loss.item():.4f}, speakers from the features {probe(model):.3f}")
