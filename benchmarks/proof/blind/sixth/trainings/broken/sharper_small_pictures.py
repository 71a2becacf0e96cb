r"""Enlargement of small pictures by a factor of two, with a rate that falls half way.

Source: https://github.com/Lornatang/SRGAN-PyTorch/issues/1
Fault: The scheduler counts epochs but is called after each batch, so the rate is soon near zero.
Cause: schedul|learning rate.{0,80}(zero|fall|decay|shrink|drop|tiny|small|vanish|soon|early|1e-)
    |(batch|iteration|step).{0,40}instead.{0,20}epoch|decay\w*.{0,40}(batch|too (fast|early|soon))
Place: scheduler
"""

import torch
from torch import nn

torch.manual_seed(2)
epochs, batches = 8, 12


def pictures(count=16):
    grid = torch.linspace(0, 1, 24)
    phase, angle = 6.28 * torch.rand(2, count, 1, 1)
    wave = angle.cos() * grid[None, :, None] + angle.sin() * grid[None, None]
    large = 0.5 + 0.5 * torch.sin(12 * wave + phase)[:, None]
    return nn.functional.avg_pool2d(large, 2), large


generator = nn.Sequential(
    nn.Conv2d(1, 24, 5, padding=2),
    nn.PReLU(),
    nn.Conv2d(24, 24, 3, padding=1),
    nn.PReLU(),
    nn.Conv2d(24, 4, 3, padding=1),
    nn.PixelShuffle(2),
)
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=epochs // 2, gamma=0.1)
criterion = nn.MSELoss()
for epoch in range(epochs):
    for _ in range(batches):
        small, large = pictures()
        optimizer.zero_grad()
        loss = criterion(generator(small), large)
        loss.backward()
        optimizer.step()
        scheduler.step()  # here
    print(f"epoch {epoch} loss {loss.item():.5f}")
with torch.no_grad():
    small, large = pictures(64)
    mse = criterion(generator(small), large)
print(f"psnr {-10 * mse.log10().item():.2f} dB")
