r"""A training.

Source: https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
Fault: A new GradScaler is created in every iteration, so its scale and growth state are lost and
    never adapt.
Cause: (scaler).{0,120}(new|each|every|re-?creat|insid|rebuil|per (step|batch|iter)|loop|state|adapt)
    |(new|re-?creat\w*).{0,40}scaler
"""

import torch
from torch import nn, amp

torch.manual_seed(40)
n = 600
freq = torch.randint(1, 5, (n,))
phase = torch.rand(n, 1) * 6.28
wave = torch.sin(freq[:, None] * torch.linspace(0, 6.28, 32)[None] + phase) + 0.2 * torch.randn(n, 32)
target = freq - 1

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


def new_scaler():
    return amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=50)


for epoch in range(6):
    for idx in torch.randperm(500).split(50):
        scaler = new_scaler()
        optimizer.zero_grad()
        with amp.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(wave[idx]), target[idx])
        scaler.scale(loss * 8).backward()
        scaler.step(optimizer)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.4f} scale {scaler.get_scale():.3g}")
model.eval()
with torch.no_grad():
    acc = (model(wave[500:]).argmax(1) == target[500:]).float().mean()
print("accuracy", acc.item())
