r"""Trains a network with a gradient scaler and gradient clipping at one.

Source: https://github.com/milesial/Pytorch-UNet/issues/468
    https://github.com/milesial/Pytorch-UNet/pull/470
Fault: The gradients are clipped while they are still multiplied by the scale, so after the
    unscaling they are about 65536 times too small and SGD hardly moves.
Cause: unscale|clip.*(before|scaled)|scal\w+.*clip
"""

import torch
import torch.nn.functional as F
from torch import nn, optim


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc, self.down, self.outc = DoubleConv(1, 8), DoubleConv(8, 16), nn.Conv2d(24, 2, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = F.interpolate(self.down(F.max_pool2d(x1, 2)), scale_factor=2)
        return self.outc(torch.cat([x1, x2], 1))


def train_model(model, epochs=6, gradient_clipping=1.0):
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    images = torch.rand(48, 1, 16, 16)
    true_masks = (F.avg_pool2d(images, 5, 1, 2) > 0.48).long().squeeze(1)
    for epoch in range(1, epochs + 1):
        for idx in torch.randperm(48).split(8):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                masks_pred = model(images[idx])
                loss = F.cross_entropy(masks_pred.float(), true_masks[idx])
            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)  # here
            grad_scaler.step(optimizer)
            grad_scaler.update()
        print(f"epoch {epoch} loss (batch) {loss.item():.4f}")


torch.manual_seed(0)
train_model(UNet())
