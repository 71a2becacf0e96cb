r"""Trains with a gradient scaler that starts far too high.

Source: https://pytorch.org/docs/stable/amp.html#gradient-scaling
    https://discuss.pytorch.org/t/optimizer-step-before-lr-scheduler-step-error-using-gradscaler/92930
Odd: The first steps have infinite gradients and are skipped by the scaler, so the weights stand
    still; the scale halves until they are finite, and then the loss falls.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.GELU())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


torch.manual_seed(0)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-8)
for step in range(150):
    x = torch.randn(64, 10)
    loss = F.mse_loss(model(x), torch.sin(x[:, :1]) * 30 + x[:, 1:2])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    before = model.out.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    if step < 4 or step % 30 == 29:
        skipped = torch.equal(before, model.out.weight)
        print(
            f"step {step} loss {loss.item():.3f} scale {scaler.get_scale():.2e} skipped {skipped}"
        )
