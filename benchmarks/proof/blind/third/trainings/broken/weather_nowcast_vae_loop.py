r"""Training of a small field autoencoder for precipitation maps.

Source: https://github.com/gaozhihan/PreDiff/pull/33 https://github.com/ZiqiaoPeng/DualTalk/issues/9
Fault: zero_grad stands between backward and step, so every update uses empty gradients.
Cause: zero_grad.*(between|after|before).*(backward|step)
    |(grad\w*).*(cleared|zeroed|None|erased).*(before|step)
    |(never|not|no).*(chang|updat|mov|train|learn)
Place: zero_grad|optimizer|step
"""

import torch
from torch import nn

torch.manual_seed(0)
fields = torch.rand(64, 1, 12, 12)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.SiLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    for batch in fields.split(16):
        loss = nn.functional.mse_loss(net(batch), batch)
        loss.backward()
        optimizer.zero_grad()  # here
        optimizer.step()
print(f"reconstruction {loss.item():.4f}")
