r"""Generator whose adversarial loss and a second loss go backward one after the other.

Source: https://github.com/facebookresearch/pytorch_GAN_zoo/issues/83
Odd: There are two backward calls before one step; the first keeps the graph.
"""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 2))
D_body = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2))
D_head = nn.Linear(48, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=3e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam([*D_body.parameters(), *D_head.parameters()], lr=3e-3, betas=(0.5, 0.99))
softplus = nn.functional.softplus
for step in range(60):
    real = torch.randn(64, 2) * 0.3 + torch.tensor([1.5, -1.0])
    fake = G(torch.randn(64, 6))
    d_loss = softplus(-D_head(D_body(real))).mean() + softplus(D_head(D_body(fake.detach()))).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    features = D_body(fake)
    loss_fake = softplus(-D_head(features)).mean()
    loss_fake.backward(retain_graph=True)
    gdpp = (features.mean(0) - D_body(real).mean(0).detach()).square().mean()
    (5 * gdpp).backward()
    opt_g.step()
print(f"mean of images {G(torch.randn(512, 6)).mean(0).tolist()} (1.5, -1)")
