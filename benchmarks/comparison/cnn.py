"""A small convolutional network, 60 steps: the training of which `step_time` measures the steps."""

import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(64, 10),
)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
# watch: model, optimizer
x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
for step in range(60):
    if step == 10:
        wall, processor = time.perf_counter(), time.process_time()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
wall, processor = time.perf_counter() - wall, time.process_time() - processor
print(f"per step: {wall * 20:.3f} ms of wall time, {processor * 20:.3f} ms of processor time")
