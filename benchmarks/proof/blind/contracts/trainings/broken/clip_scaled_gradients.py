r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
Fault: Gradients are clipped while still multiplied by the GradScaler's loss scale, since unscale_
    is not called first.
Cause: unscale|(clip\w*).{0,100}(scaled|scale)|scaled grad
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
w = torch.randn(12, 3)
feats = torch.randn(800, 12)
labels = (feats @ w).argmax(1)
dl = DataLoader(TensorDataset(feats[:640], labels[:640]), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    for xb, yb in dl:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(xb), yb)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    print("acc", (model(feats[640:]).argmax(1) == labels[640:]).float().mean().item())
