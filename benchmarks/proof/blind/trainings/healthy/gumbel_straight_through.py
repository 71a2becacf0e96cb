r"""Learns a discrete code of four symbols with the straight-through Gumbel softmax.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
    https://github.com/dev4488/VAE_gumble_softmax
Odd: The forward pass is a hard one-hot sample, which has no derivative; hard=True passes the
    gradient of the soft sample, and encoder and decoder both learn.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DiscreteAutoencoder(nn.Module):
    def __init__(self, dim=6, codes=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, codes))
        self.decoder = nn.Linear(codes, dim)

    def forward(self, x, tau):
        code = F.gumbel_softmax(self.encoder(x), tau=tau, hard=True)
        return self.decoder(code), code


torch.manual_seed(0)
protos = 2 * torch.randn(4, 6)
model = DiscreteAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(250):
    tau = max(0.5, 2.0 * 0.99**step)
    x = protos[torch.randint(0, 4, (64,))] + 0.1 * torch.randn(64, 6)
    recon, code = model(x, tau)
    loss = F.mse_loss(recon, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(
            f"step {step} loss {loss.item():.4f} tau {tau:.2f} codes {int((code.sum(0) > 0).sum())}"
        )
