"""Trains a VAE on small images; the KL term rises before it falls.

Source: https://github.com/facebookresearch/improved_vrnn/issues/4
Odd: the KL term starts near zero and grows for many steps; the model begins to use its latent code,
    and the whole loss falls.
"""

import torch
from torch import nn

torch.manual_seed(13)


class VAE(nn.Module):
    def __init__(self, pixels=64, zdim=4):
        super().__init__()
        self.fc1 = nn.Linear(pixels, 48)
        self.mu, self.logvar = nn.Linear(48, zdim), nn.Linear(48, zdim)
        self.fc3, self.fc4 = nn.Linear(zdim, 48), nn.Linear(48, pixels)

    def forward(self, x):
        h = self.fc1(x).relu()
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.fc4(self.fc3(z).relu()), mu, logvar


row, col = torch.randint(0, 6, (2, 512))
images = torch.zeros(512, 8, 8)
for n, (r, c) in enumerate(zip(row.tolist(), col.tolist(), strict=True)):
    images[n, r : r + 3, c : c + 3] = 1.0
images = images.flatten(1)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    for x in images[torch.randperm(512)].split(64):
        recon, mu, logvar = model(x)
        bce = nn.functional.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
        kld = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum() / len(x)
        optimizer.zero_grad()
        (bce + kld).backward()
        optimizer.step()
    if epoch % 3 == 0 or epoch == 19:
        total = (bce + kld).item()
        print(f"epoch {epoch} loss {total:.2f} bce {bce.item():.2f} kl {kld.item():.2f}")
