r"""A network with binary weights and a straight-through estimator.

Source: https://github.com/itayhubara/BinaryNet.pytorch/blob/master/models/binarized_modules.py
Odd: sign() has no useful derivative, the weights are overwritten through .data before and after the
    step and clamped to [-1, 1]; that is the published recipe, and the loss falls.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BinarizeLinear(nn.Linear):
    def forward(self, input):
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        return F.linear(input, self.weight, self.bias)


torch.manual_seed(1)
model = nn.Sequential(
    BinarizeLinear(16, 128),
    nn.BatchNorm1d(128),
    nn.Hardtanh(),
    BinarizeLinear(128, 4),
    nn.BatchNorm1d(4),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
centers = torch.randn(4, 16)
for batch_idx in range(200):
    target = torch.randint(0, 4, (64,))
    data = centers[target] + torch.randn(64, 16)
    output = model(data)
    loss = F.cross_entropy(output, target)
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        if hasattr(p, "org"):
            p.data.copy_(p.org)
    optimizer.step()
    for p in model.parameters():
        if hasattr(p, "org"):
            p.org.copy_(p.data.clamp_(-1, 1))
    if batch_idx % 40 == 39:
        acc = (output.argmax(1) == target).float().mean().item()
        print(f"{batch_idx} loss {loss.item():.4f} accuracy {acc:.3f}")
