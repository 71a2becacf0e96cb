r"""Reconstruction with an adversarial domain term from a site classifier.

Source: https://github.com/guopengf/FL-MRCM/issues/10
Fault: The adversarial loss is turned into a number by item(), so it never reaches the encoder.
Cause: item\(\)|python (float|number|scalar)|detach|(constant|no grad\w*).*(loss|term)
    |(loss|term).*(constant|no grad)
Place: item|adv|loss
"""

import torch
from torch import nn

torch.manual_seed(0)
site = torch.arange(128) % 2
scans = torch.randn(128, 24) + site[:, None] * 1.5
encoder = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 8))
decoder = nn.Linear(8, 24)
domain = nn.Linear(8, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
d_optimizer = torch.optim.Adam(domain.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(250):
    code = encoder(scans)
    d_loss = criterion(domain(code.detach()), site)
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    loss_rec = (decoder(code) - scans).pow(2).mean()
    loss_adv = criterion(domain(code), site).detach().item()  # here
    loss = loss_rec - 0.5 * loss_adv
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"rec {loss_rec.item():.3f} site loss {d_loss.item():.3f}")
