"""VQ-VAE: a codebook that is a buffer with moving averages, and a straight-through estimator."""

import json

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(43)


class VectorQuantizerEMA(nn.Module):
    def __init__(self, codes, dim, decay=0.95):
        super().__init__()
        self.embedding = nn.Embedding(codes, dim)
        self.embedding.weight.requires_grad_(False)
        self.register_buffer("cluster_size", torch.ones(codes))
        self.ema_w = nn.Parameter(self.embedding.weight.clone(), requires_grad=False)
        self.decay = decay

    def forward(self, z):
        distance = torch.cdist(z, self.embedding.weight)
        one_hot = F.one_hot(distance.argmin(1), distance.shape[1]).float()
        quantized = one_hot @ self.embedding.weight
        if self.training:
            with torch.no_grad():
                self.cluster_size.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
                self.ema_w.mul_(self.decay).add_(one_hot.T @ z, alpha=1 - self.decay)
                self.embedding.weight.copy_(self.ema_w / (self.cluster_size[:, None] + 1e-3))
        loss = 0.25 * F.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self._encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        self._vq_vae = VectorQuantizerEMA(16, 4)
        self._decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        quantized, loss = self._vq_vae(self._encoder(x))
        return loss, self._decoder(quantized)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=False)
centers = torch.randn(8, 16)
losses = []
model.train()
for i in range(150):
    data = centers[torch.randint(8, (64,))] + 0.1 * torch.randn(64, 16)
    optimizer.zero_grad()
    vq_loss, data_recon = model(data)
    loss = F.mse_loss(data_recon, data) + vq_loss
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if (i + 1) % 50 == 0:
        print(i + 1, loss.item())
print("TRUTH", json.dumps({"model": ["Adam", 150, losses[0], losses[-1]]}))
