r"""A vector-quantised autoencoder whose codebook is a buffer updated by moving averages.

Source: https://github.com/lucidrains/vector-quantize-pytorch/issues/22
    https://github.com/zalandoresearch/pytorch-vq-vae/blob/master/vq-vae.ipynb
Odd: The codebook has no gradient and is not in the optimizer, the quantised vector is detached;
    the averages move the codes and the straight-through sum trains the encoder.
"""

import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizerEMA(nn.Module):
    def __init__(self, num_embeddings, dim, commitment_cost=0.25, decay=0.9):
        super().__init__()
        self.register_buffer("embedding", torch.randn(num_embeddings, dim))
        self.register_buffer("cluster_size", torch.ones(num_embeddings))
        self.register_buffer("ema_w", self.embedding.clone())
        self.decay, self.commitment_cost = decay, commitment_cost

    def forward(self, z):
        idx = torch.cdist(z, self.embedding).argmin(1)
        onehot = F.one_hot(idx, len(self.embedding)).float()
        quantized = self.embedding[idx]
        if self.training:
            with torch.no_grad():
                self.cluster_size.lerp_(onehot.sum(0), 1 - self.decay)
                self.ema_w.lerp_(onehot.T @ z, 1 - self.decay)
                self.embedding.copy_(self.ema_w / self.cluster_size.clamp(min=1e-2)[:, None])
        loss = self.commitment_cost * F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), loss, idx


torch.manual_seed(0)
encoder, decoder = nn.Linear(12, 3), nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 12))
vq_vae = VectorQuantizerEMA(16, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
protos = torch.randn(6, 12)
for i in range(250):
    data = protos[torch.randint(0, 6, (64,))] + 0.1 * torch.randn(64, 12)
    quantized, vq_loss, idx = vq_vae(encoder(data))
    recon_error = F.mse_loss(decoder(quantized), data)
    optimizer.zero_grad()
    (recon_error + vq_loss).backward()
    optimizer.step()
    if i % 50 == 49:
        print(f"{i} recon_error {recon_error.item():.4f} codes used {idx.unique().numel()}")
