r"""Score network at ten levels of noise.

Source: https://github.com/ermongroup/ncsn/blob/master/losses/dsm.py
Odd: The target is noise, so the loss ends far above 0; it is weighted by the variance of each
    level.
"""

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(1024, 2) * 0.1 + torch.randint(0, 2, (1024, 1)) * 2 - 1
sigmas = torch.exp(torch.linspace(0.5, -2.3, 10))


class ScoreNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.level = nn.Embedding(10, 32)
        self.inner = nn.Linear(2, 64)
        self.outer = nn.Sequential(nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2))

    def forward(self, x, labels):
        h = torch.cat([nn.functional.silu(self.inner(x)), self.level(labels)], 1)
        return self.outer(h) / sigmas[labels][:, None]


scorenet = ScoreNet()
optimizer = torch.optim.Adam(scorenet.parameters(), lr=5e-3)
for step in range(60):
    samples = data[torch.randint(0, 1024, (128,))]
    labels = torch.randint(0, 10, (128,))
    used_sigmas = sigmas[labels][:, None]
    perturbed = samples + torch.randn_like(samples) * used_sigmas
    target = -(perturbed - samples) / used_sigmas**2
    scores = scorenet(perturbed, labels)
    loss = 0.5 * ((scores - target).square().sum(1) * used_sigmas.squeeze(1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
print(f"loss {loss.item():.3f}")
