r"""Trains a small segmentation network whose batch norm was ported with the momentum of TensorFlow.

Source: https://github.com/kazuto1011/deeplab-pytorch/issues/79
    https://github.com/pytorch/vision/issues/8250
Fault: momentum=0.999 means in PyTorch that the running statistics are those of the last batch, so
    with small batches the loss in eval mode is much worse and jumps.
Cause: momentum|running (stat|mean|var)|batch.?norm
Place: BatchNorm2d|\bbn\b
"""

import torch
from torch import nn

torch.manual_seed(0)


class ConvBnReLU(nn.Sequential):
    def __init__(self, i, o, relu=True):
        super().__init__()
        self.add_module("conv", nn.Conv2d(i, o, 3, 1, 1, bias=False))
        self.add_module("bn", nn.BatchNorm2d(o, eps=1e-5, momentum=0.999))  # here
        if relu:
            self.add_module("relu", nn.ReLU())


def scenes(n):
    tone = torch.rand(n, 1, 1, 1) * 3
    mask = (torch.rand(n, 3, 3) < 0.5).long()
    mask = mask.repeat_interleave(4, 1).repeat_interleave(4, 2)
    image = mask[:, None].float() + tone + 0.4 * torch.randn(n, 3, 12, 12)
    return image, mask


model = nn.Sequential(ConvBnReLU(3, 12), ConvBnReLU(12, 12), nn.Conv2d(12, 2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()
val_images, val_masks = scenes(64)
for iteration in range(120):
    model.train()
    images, masks = scenes(3)
    loss = criterion(model(images), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 15 == 14:
        model.eval()
        with torch.no_grad():
            val = criterion(model(val_images), val_masks).item()
        print(f"iteration {iteration + 1} train {loss.item():.4f} val {val:.4f}")
