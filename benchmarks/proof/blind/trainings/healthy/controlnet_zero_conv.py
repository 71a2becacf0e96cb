r"""Adds a control branch with zero convolutions to a frozen denoiser.

Source: https://github.com/lllyasviel/ControlNet/blob/main/docs/faq.md
    https://github.com/lllyasviel/ControlNet/blob/main/cldm/cldm.py
Odd: The base has no gradients and the copied branch gets a zero gradient at first, because it feeds
    a convolution of zeros; after one step of that convolution the branch learns.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


class ControlledNet(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.control = copy.deepcopy(base[:2]).requires_grad_(True)
        self.hint = nn.Conv1d(1, 1, 3, padding=1)
        self.zero_conv = zero_module(nn.Conv1d(16, 16, 1))

    def forward(self, x, hint):
        h = self.base[:2](x)
        return self.base[2](h + self.zero_conv(self.control(x + self.hint(hint))))


torch.manual_seed(0)
base = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.SiLU(), nn.Conv1d(16, 1, 5, padding=2))
model = ControlledNet(base)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(params, lr=5e-3)
for step in range(200):
    hint = (torch.rand(16, 1, 24) > 0.7).float()
    noise = torch.randn(16, 1, 24)
    loss = F.mse_loss(model(hint + noise, hint), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 or step == 199:
        print(f"step {step} loss {loss.item():.4f}")
