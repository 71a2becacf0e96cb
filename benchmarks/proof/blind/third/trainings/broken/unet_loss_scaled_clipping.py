r"""Binary segmentation with a manual loss scale and clipped gradients.

Source: https://github.com/milesial/Pytorch-UNet/issues/468
Fault: The gradients are clipped while they still carry the loss scale, so all updates are tiny.
Cause: clip.*(unscal|scale|before)|unscal.*(clip|before|after)|scal\w*.*(clip|grad)
Place: clip_grad_norm_|scale|unscale
"""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(64, 3, 12, 12)
masks = (images.mean(1, keepdim=True) > 0.5).float()
model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scale = 2.0**12
for epoch in range(15):
    for index in torch.randperm(64).split(16):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(images[index]), masks[index])
        (loss * scale).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
        for p in model.parameters():
            p.grad.div_(scale)
        optimizer.step()
print(f"loss {loss.item():.4f}")
