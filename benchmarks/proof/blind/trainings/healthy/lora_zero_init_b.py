r"""Adapts a frozen regression network to a shifted task with low-rank adapters.

Source: https://github.com/microsoft/LoRA/blob/main/loralib/layers.py
Odd: lora_B starts at zero, so lora_A has a zero gradient at the first step, and the base weights
    have none at all; that is how LoRA begins at the pretrained function.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Linear(nn.Linear):
    def __init__(self, in_features, out_features, r=4, lora_alpha=8):
        super().__init__(in_features, out_features)
        self.lora_A = nn.Parameter(torch.empty(r, in_features))
        self.lora_B = nn.Parameter(torch.zeros(out_features, r))
        self.scaling = lora_alpha / r
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return super().forward(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        p.requires_grad = "lora_" in n


torch.manual_seed(0)
model = nn.Sequential(Linear(8, 32), nn.Tanh(), Linear(32, 32), nn.Tanh(), Linear(32, 1))
mark_only_lora_as_trainable(model)
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-2)
x = torch.randn(512, 8)
y = torch.sin(x[:, :1] + x[:, 1:2])
for step in range(200):
    idx = torch.randint(0, 512, (128,))
    loss = F.mse_loss(model(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"final loss {F.mse_loss(model(x), y).item():.4f}")
