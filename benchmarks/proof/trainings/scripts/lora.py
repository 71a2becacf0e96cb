"""Low-rank adapters by hand in a frozen base that was trained before, as in microsoft/LoRA."""

import json
import math

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scaling = alpha / r
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.v_proj = nn.Linear(8, 32), nn.Linear(32, 32)
        self.norm, self.lm_head = nn.LayerNorm(32), nn.Linear(32, 4)

    def forward(self, x):
        return self.lm_head(self.norm(torch.relu(self.v_proj(torch.relu(self.q_proj(x))))))


def run(model, optimizer, centers, steps):
    losses = []
    for _ in range(steps):
        y = torch.randint(4, (32,))
        loss = nn.functional.cross_entropy(model(centers[y] + torch.randn(32, 8)), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


torch.manual_seed(14)
model = MLP()
a = run(model, torch.optim.AdamW(model.parameters(), lr=3e-3), 2 * torch.randn(4, 8), 60)
for p in model.parameters():
    p.requires_grad = False
for name in ("q_proj", "v_proj"):
    setattr(model, name, LoRALinear(getattr(model, name)))
trainable = [p for p in model.parameters() if p.requires_grad]
total = sum(p.numel() for p in model.parameters())
print(f"trainable params: {sum(p.numel() for p in trainable)} || all params: {total}")
b = run(model, torch.optim.AdamW(trainable, lr=1e-2), 2 * torch.randn(4, 8), 80)
print(a[0], a[-1], b[0], b[-1])
print("TRUTH", json.dumps({"model": ["AdamW", 140, a[0], b[-1]]}))
