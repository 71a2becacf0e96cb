"""A masked autoencoder on patches, with two-dimensional sine-cosine positions.

Source: https://github.com/facebookresearch/mae/issues/131
    https://github.com/zhu-xlab/DOFA/issues/10
Odd: pos_embed is a Parameter that never gets a gradient; it holds fixed sines and cosines and is
    frozen on purpose.
"""

import torch
from torch import nn


def sincos_1d(dim, pos):
    omega = 1.0 / 10000 ** (torch.arange(dim // 2) / (dim / 2))
    out = pos.reshape(-1)[:, None] * omega[None]
    return torch.cat([out.sin(), out.cos()], 1)


def sincos_2d(dim, grid):
    y, x = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
    return torch.cat([sincos_1d(dim // 2, y), sincos_1d(dim // 2, x)], 1)


class TinyMAE(nn.Module):
    def __init__(self, size=32, patch=8, dim=48, keep=0.25):
        super().__init__()
        self.patch, self.keep = patch, keep
        grid = size // patch
        self.patch_embed = nn.Linear(3 * patch * patch, dim)
        self.pos_embed = nn.Parameter(sincos_2d(dim, grid)[None], requires_grad=False)
        self.encoder = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.decoder = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.to_pixels = nn.Linear(dim, 3 * patch * patch)
        nn.init.normal_(self.mask_token, std=0.02)

    def forward(self, images):
        patches = nn.functional.unfold(images, self.patch, stride=self.patch).transpose(1, 2)
        batch, count, _ = patches.shape
        order = torch.rand(batch, count).argsort(1)
        kept = order[:, : int(count * self.keep)]
        x = self.patch_embed(patches) + self.pos_embed
        x = self.encoder(x.gather(1, kept[..., None].expand(-1, -1, x.size(-1))))
        full = self.mask_token.expand(batch, count, -1)
        full = full.scatter(1, kept[..., None].expand(-1, -1, x.size(-1)), x)
        recon = self.to_pixels(self.decoder(full + self.pos_embed))
        hidden = torch.ones(batch, count).scatter(1, kept, 0.0)
        loss = ((recon - patches).square().mean(-1) * hidden).sum() / hidden.sum()
        return {"loss": loss, "recon": recon}


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
