"""Healthy: the first layer is frozen on purpose; a pair of small matrices is trained."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.lora_a.T @ self.lora_b.T


torch.manual_seed(0)
model = nn.Sequential(Adapted(nn.Linear(16, 32), 2), nn.ReLU(), Adapted(nn.Linear(32, 4), 2))
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trained, lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
