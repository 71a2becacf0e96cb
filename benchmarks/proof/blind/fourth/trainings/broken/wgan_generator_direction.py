r"""Wasserstein GAN with clipped weights, gradients given by a sign to backward.

Source: https://github.com/Zeleni9/pytorch-wgan/pull/53
Fault: The generator goes down the score of its images where it should go up.
Cause: (sign|direction|opposite|wrong way|ascen|maximi[sz]|minimi[sz])\w*
    |(generator|g_loss|score)\w* .*(worse|away|wrong|increas|decreas)\w*
Place: g_loss|\bm?one\b
"""

import torch
from torch import nn

torch.manual_seed(0)
angle = torch.rand(512) * 6.2832
data = torch.stack([angle.cos(), angle.sin()], 1) + 2
G = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
d_optimizer = torch.optim.RMSprop(D.parameters(), lr=2e-3)
g_optimizer = torch.optim.RMSprop(G.parameters(), lr=2e-3)
one = torch.tensor(1.0)
mone = one * -1
for step in range(50):
    for p in D.parameters():
        p.requires_grad = True
    for _ in range(4):
        for p in D.parameters():
            p.data.clamp_(-0.1, 0.1)
        D.zero_grad()
        D(data[torch.randint(0, 512, (64,))]).mean().backward(mone)
        D(G(torch.randn(64, 4)).detach()).mean().backward(one)
        d_optimizer.step()
    for p in D.parameters():
        p.requires_grad = False
    G.zero_grad()
    g_loss = D(G(torch.randn(64, 4))).mean()
    g_loss.backward(one)  # here
    g_optimizer.step()
print(f"mean of the images {G(torch.randn(256, 4)).mean().item():.2f} (2)")
