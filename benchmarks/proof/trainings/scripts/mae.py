"""A masked autoencoder: forward_encoder, forward_decoder and forward_loss inside forward."""

import json

import torch
from torch import nn

torch.manual_seed(38)


class MaskedAutoencoder(nn.Module):
    def __init__(self, tokens=8, width=4, dim=16, dim_decoder=16):
        super().__init__()
        self.patch_embed = nn.Linear(width, dim)
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, tokens, dim), requires_grad=False)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 32, 0.0, batch_first=True, norm_first=True)
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(dim)
        self.decoder_embed = nn.Linear(dim, dim_decoder)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim_decoder))
        self.decoder_pos = nn.Parameter(0.02 * torch.randn(1, tokens, dim_decoder))
        self.decoder_block = nn.TransformerEncoderLayer(dim_decoder, 2, 32, 0.0, batch_first=True)
        self.decoder_pred = nn.Linear(dim_decoder, width)

    def forward_encoder(self, x, mask_ratio):
        x = self.patch_embed(x) + self.pos_embed
        keep = int(x.shape[1] * (1 - mask_ratio))
        order = torch.rand(x.shape[:2]).argsort(1)
        kept = order[:, :keep]
        x = torch.gather(x, 1, kept[..., None].expand(-1, -1, x.shape[2]))
        for block in self.blocks:
            x = block(x)
        mask = torch.ones(order.shape).scatter(1, kept, 0.0)
        return self.norm(x), mask, order.argsort(1)

    def forward_decoder(self, x, restore):
        x = self.decoder_embed(x)
        hidden = self.mask_token.expand(x.shape[0], restore.shape[1] - x.shape[1], -1)
        x = torch.cat([x, hidden], 1)
        x = torch.gather(x, 1, restore[..., None].expand(-1, -1, x.shape[2]))
        return self.decoder_pred(self.decoder_block(x + self.decoder_pos))

    def forward(self, x, mask_ratio=0.5):
        latent, mask, restore = self.forward_encoder(x, mask_ratio)
        pred = self.forward_decoder(latent, restore)
        loss = (((pred - x) ** 2).mean(-1) * mask).sum() / mask.sum()
        return loss, pred, mask


model = MaskedAutoencoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
losses = []
for step in range(100):
    phase = torch.rand(16, 1) * 6.3
    signal = torch.sin(phase + torch.arange(32) * 0.4).view(16, 8, 4)
    loss, _, _ = model(signal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 25 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["AdamW", 100, losses[0], losses[-1]]}))
