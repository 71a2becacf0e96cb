"""A vector quantiser whose codes follow a moving average of the encoder.

Source: https://github.com/lucidrains/vector-quantize-pytorch/issues/40
Odd: the codebook is a buffer without a gradient, it changes in forward during training.
"""

import torch
import torch.nn.functional as F
from torch import nn


class EMAVectorQuantizer(nn.Module):
    def __init__(self, dim=12, d=6, n_codes=8, decay=0.9):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, d))
        self.decoder = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, dim))
        self.register_buffer("embed", torch.randn(n_codes, d))
        self.register_buffer("cluster_size", torch.ones(n_codes))
        self.register_buffer("embed_avg", self.embed.clone())
        self.decay = decay

    @torch.no_grad()
    def _update(self, z, onehot):
        self.cluster_size.lerp_(onehot.sum(0), 1 - self.decay)
        self.embed_avg.lerp_(onehot.T @ z, 1 - self.decay)
        self.embed.copy_(self.embed_avg / self.cluster_size.clamp(min=1e-2).unsqueeze(1))

    def forward(self, x):
        z = self.encoder(x)
        index = torch.cdist(z, self.embed).argmin(1)
        q = self.embed[index]
        if self.training:
            self._update(z.detach(), F.one_hot(index, len(self.embed)).float())
        commit = F.mse_loss(z, q)
        recon = self.decoder(z + (q - z).detach())
        return {"loss": F.mse_loss(recon, x) + 0.25 * commit, "recon": recon}


def example_inputs():
    return (torch.randn(32, 12),)
