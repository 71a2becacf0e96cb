r"""Adapts a source model to a target domain; the output layer is meant to stay fixed.

Source: https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18
    https://github.com/catalyst-team/catalyst/pull/81
Fault: requires_grad is set on a module, which only adds an attribute; the layer that should be
    frozen goes on training.
Cause: attribute|requires_grad|(not|never|isn.t).*(frozen|freez)|freez.*(no effect|nothing)
Place: outc|last layer
"""

import torch
from torch import nn


class SegModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.outc = nn.Conv2d(12, 3, 1)

    def forward(self, x):
        return self.outc(self.inc(x))


class Adapter:
    def __init__(self, model):
        self.model = model
        self.model.outc.requires_grad = False  # here
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def entropy_step(self, images):
        p = self.model(images).softmax(1)
        loss = -(p * (p + 1e-6).log()).sum(1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def scans(n, shift):
    labels = torch.randint(0, 3, (n, 3, 3)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    return labels.unsqueeze(1) + shift + 0.3 * torch.randn(n, 1, 12, 12), labels


torch.manual_seed(0)
model = SegModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(60):
    images, labels = scans(8, 0.0)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"source loss {loss.item():.4f}")
source_head = model.outc.weight.detach().clone()
adapter = Adapter(model)
for step in range(60):
    loss = adapter.entropy_step(scans(8, 0.5)[0])
    if step % 15 == 14:
        drift = (model.outc.weight - source_head).abs().max().item()
        print(f"step {step} entropy {loss:.4f} drift of the fixed head {drift:.4f}")
