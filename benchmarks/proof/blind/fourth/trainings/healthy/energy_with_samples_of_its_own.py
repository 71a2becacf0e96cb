r"""Energy of data, trained against samples that follow its gradient with noise.

Source: https://github.com/wgrathwohl/JEM/blob/master/train_wrn_ebm.py
Odd: The loss is a difference that stays near 0; the samples are kept in a buffer from step to step,
    and the weights have no gradient while they move.
"""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(1024, 2) * 0.3 + torch.tensor([1.0, -0.5])
energy = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=5e-3, betas=(0.0, 0.9))
buffer = torch.rand(256, 2) * 4 - 2
for step in range(50):
    chosen = torch.randint(0, 256, (64,))
    x_k = torch.where(torch.rand(64, 1) < 0.05, torch.rand(64, 2) * 4 - 2, buffer[chosen])
    energy.requires_grad_(False)
    for _ in range(10):
        x_k = x_k.detach().requires_grad_()
        (grad,) = torch.autograd.grad(energy(x_k).sum(), x_k)
        x_k = x_k - 0.1 * grad + 0.1 * torch.randn_like(x_k)
    energy.requires_grad_(True)
    buffer[chosen] = x_k.detach()
    e_real = energy(data[torch.randint(0, 1024, (64,))])
    e_fake = energy(x_k.detach())
    loss = e_real.mean() - e_fake.mean() + 0.05 * (e_real**2 + e_fake**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}, mean of samples {buffer.mean(0).tolist()} (1, -0.5)")
