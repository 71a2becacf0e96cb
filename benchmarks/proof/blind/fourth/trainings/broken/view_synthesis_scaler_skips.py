r"""Network of view synthesis with loss scaling; steps with a large gradient are left out.

Source: https://github.com/Haian-Jin/LVSM/pull/19
Fault: A step that is left out also leaves out scaler.update(), and the next unscale_ raises.
Cause: unscale_|scaler
Place: scaler
"""

import torch
from torch import nn

torch.manual_seed(0)
rays = torch.randn(256, 6)
colours = torch.sigmoid(rays @ torch.randn(6, 3))
model = nn.Sequential(nn.Linear(6, 48), nn.GELU(), nn.Linear(48, 3), nn.Sigmoid())
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for step in range(60):
    index = torch.randint(0, 256, (32,))
    weight = 500.0 if step == 24 else 1.0
    loss = weight * nn.functional.mse_loss(model(rays[index]), colours[index])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # here
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm > 5.0:
        print(f"step {step}: gradient norm {norm.item():.2f}, step left out")
        continue  # here
    scaler.step(optimizer)
    scaler.update()
print(f"loss {loss.item():.4f}")
