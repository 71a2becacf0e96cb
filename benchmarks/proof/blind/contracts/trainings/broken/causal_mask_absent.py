r"""A training of `TinyGPT`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html
Fault: The transformer language model is trained without a causal mask, so every position sees the
    token that it must predict.
Cause: causal|mask|future|look ?ahead|sees? (the )?(next|later|target)
"""

import torch
from torch import nn

torch.manual_seed(142)
V, T = 10, 16


def make(n):
    s = torch.zeros(n, T + 1, dtype=torch.long)
    s[:, :2] = torch.randint(V, (n, 2))
    for t in range(2, T + 1):
        s[:, t] = (s[:, t - 1] + s[:, t - 2]) % V
    flip = torch.rand(n, T + 1) < 0.15
    return torch.where(flip, torch.randint(V, (n, T + 1)), s)


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, 32), nn.Embedding(T, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, V)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(T))

    def forward(self, s):
        h = self.tok(s) + self.pos.weight[: s.size(1)]
        h = self.blocks(h)
        return self.head(h)


gpt = TinyGPT()
opt = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
for step in range(80):
    s = make(32)
    loss = nn.functional.cross_entropy(gpt(s[:, :-1]).flatten(0, 1), s[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step + 1, f"{loss.item():.4f}")
