r"""Masked autoencoder on patches of signals.

Source: https://github.com/facebookresearch/mae/blob/main/models_mae.py
Odd: Three of four patches are hidden and never reach the encoder; the loss is of these only,
    against patches that are normalised one by one. The positions are fixed.
"""

import torch
from torch import nn


class MAE(nn.Module):
    def __init__(self, dim=32, patches=16, size=4):
        super().__init__()
        self.embed = nn.Linear(size, dim)
        angle = torch.arange(patches)[:, None] * 100.0 ** -(torch.arange(dim // 2) / (dim // 2))
        pos = torch.cat([angle.sin(), angle.cos()], 1)[None]
        self.pos_embed = nn.Parameter(pos, requires_grad=False)
        self.encoder = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, "gelu", batch_first=True)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        nn.init.normal_(self.mask_token, std=0.02)
        self.decoder = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, "gelu", batch_first=True)
        self.pred = nn.Linear(dim, size)

    def forward(self, x):
        b, n, _ = x.shape
        order = torch.rand(b, n).argsort(1)
        restore = order.argsort(1)
        kept = (self.embed(x) + self.pos_embed).gather(1, order[:, :4, None].expand(-1, -1, 32))
        kept = self.encoder(kept)
        full = torch.cat([kept, self.mask_token.expand(b, n - 4, -1)], 1)
        full = full.gather(1, restore[..., None].expand(-1, -1, 32)) + self.pos_embed
        mask = (restore >= 4).float()
        target = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-2).sqrt()
        error = (self.pred(self.decoder(full)) - target).square().mean(-1)
        return (error * mask).sum() / mask.sum()


torch.manual_seed(0)
t = torch.arange(64) * 0.25
model = MAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95))
for step in range(60):
    signals = torch.sin(t + torch.rand(64, 1) * 6.2832).view(64, 16, 4)
    loss = model(signals)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
print(f"loss {loss.item():.3f}")
