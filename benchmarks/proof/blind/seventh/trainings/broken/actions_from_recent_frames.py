r"""What a gripper should do, from its recent frames, in order, by a transformer.

Source: https://github.com/NeuracoreAI/neuracore/pull/154
Fault: The table of positions is laid along the batch, so all frames of a sample get the same one.
Cause: position\w*.{0,120}(batch|same|dimension|axis|order|unsqueeze|wrong|identical|broadcast)
    |(order|permut)\w*.{0,60}(lost|unknown|invarian|frames|tokens|sequence|not)
    |(batch).{0,60}position
Place: \bpe\b|unsqueeze|PositionalEncoding|position
"""

import math

import torch
import torch.nn as nn

torch.manual_seed(57)
FRAMES, DIM, ACTIONS = 8, 32, 5


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(1))  # here

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class Policy(nn.Module):
    def __init__(self, observation=6):
        super().__init__()
        self.embed = nn.Linear(observation, DIM)
        self.positions = PositionalEncoding(DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, ACTIONS)

    def forward(self, frames):
        x = self.positions(self.embed(frames))
        return self.head(self.encoder(x).mean(dim=1))


kinds = torch.randn(10, 6)
table = torch.randint(0, ACTIONS, (10, 10))


def demonstrations(count):
    seen = torch.rand(count, 10).argsort(dim=1)[:, :FRAMES]
    frames = kinds[seen] + 0.2 * torch.randn(count, FRAMES, 6)
    first, last = seen[:, 0], seen[:, -1]
    return frames, (first > last).long() + 2 * (seen[:, 3] > 4).long()


model = Policy()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
test_x, test_y = demonstrations(400)
for step in range(200):
    x, y = demonstrations(64)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        model.eval()
        with torch.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        model.train()
        print(f"{step + 1} loss {loss.item():.3f} right actions {right:.3f}")
