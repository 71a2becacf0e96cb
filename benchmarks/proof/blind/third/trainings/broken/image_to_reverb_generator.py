r"""Adversarial training of a generator of impulse-response spectra from image features.

Source: https://github.com/nikhilsinghmus/image2reverb/issues/37
Fault: The fake spectra are detached in the generator step too, so the adversarial term gives none.
Cause: detach|(no|without|zero|never).*(gradient|learn).*(generator|G\b)
    |generator.*(no|never|not).*(grad|train|learn|chang)
Place: detach|fake|g_loss|generator
"""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
for step in range(300):
    features = torch.randn(32, 8)
    real_spec = torch.rand(32, 16) * 0.2 + 0.7
    fake_spec = G(features)
    d_real, d_fake = D(real_spec), D(fake_spec.detach())
    d_loss = (d_real - 1).pow(2).mean() + d_fake.pow(2).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    d_fake2 = D(fake_spec.detach())  # here
    adversarial = (d_fake2 - 1).pow(2).mean()
    g_loss = adversarial + 0.001 * fake_spec.abs().mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
print(f"mean of fakes {fake_spec.mean().item():.3f} real 0.8")
