r"""A linear probe on a frozen random-feature network.

Source: https://github.com/facebookresearch/moco/blob/main/main_lincls.py
Odd: All parameters but those of the last layer have requires_grad False and no gradient, and the
    body stays in eval mode; the protocol asks for it, and the probe learns.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(10, 256), nn.BatchNorm1d(256), nn.ReLU()).eval()
fc = nn.Linear(256, 3)
for param in body.parameters():
    param.requires_grad = False
fc.weight.data.normal_(mean=0.0, std=0.01)
parameters = [p for p in nn.Sequential(body, fc).parameters() if p.requires_grad]
assert len(parameters) == 2
optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
for i in range(150):
    images = torch.randn(64, 10)
    target = images[:, :3].argmax(1)
    loss = F.cross_entropy(fc(body(images)), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 30 == 29:
        print(f"[{i}] Loss {loss.item():.4f}")
