r"""Strength of the contact between the start of a window and a binding site in it.

Source: https://github.com/tanjimin/C.Origami/issues/42
Fault: The positions are taken along the batch instead of along the sequence, so all the places of
    a sequence get the same code, and the samples get different ones.
Cause: positional? ?(enc|emb)|\bpe\b|position.{0,60}(batch|same|first dim|order|sample)
    |batch.{0,40}(dimension|axis|index).{0,60}(position|encod|sequence)|(same|equal
    |identical).{0,30}(code|encod|position)
Place: \bpe\b|PositionalEncoding|x\.size
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)


class PositionalEncoding(nn.Module):
    def __init__(self, hidden, max_len=256):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, hidden, 2) * (-math.log(10000.0) / hidden))
        pe = torch.zeros(max_len, 1, hidden)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]  # here


class ContactModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.encoder = nn.Conv1d(4, hidden, 1)
        self.positions = PositionalEncoding(hidden)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, 0.0, batch_first=True)
        self.module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.decoder = nn.Linear(hidden, 1)

    def move_feature_forward(self, x):
        return x.transpose(1, 2).contiguous()

    def forward(self, x):
        x = self.encoder(self.move_feature_forward(x))
        x = self.move_feature_forward(x)
        x = self.module(self.positions(x))
        return self.decoder(x.mean(1)).squeeze(1)


def windows(count=32, length=20):
    base = torch.randint(0, 2, (count, length))
    site = torch.randint(0, length, (count, 1))
    base.scatter_(1, site, 2)
    contact = torch.exp(-site[:, 0] / 6.0)
    return F.one_hot(base, 4).float(), contact


model = ContactModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=150)
for step in range(150):
    sequence, contact = windows()
    loss = F.mse_loss(model(sequence), contact)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0:
        print(f"step {step} train_loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    sequence, contact = windows(64)
    error = F.mse_loss(model(sequence), contact).item()
print(f"val_loss {error:.4f}, variance of the contacts {contact.var().item():.4f}")
