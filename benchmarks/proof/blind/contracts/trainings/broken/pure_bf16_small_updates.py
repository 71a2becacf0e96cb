r"""A training.

Source: https://docs.pytorch.org/docs/stable/amp.html
Fault: The weights themselves are bfloat16 and the updates are so small that they round away, with
    no float32 master weights.
Cause: bfloat16|bf16|half|low.?precision|round\w*|master|underflow|precision
"""

import torch
from torch import nn

torch.manual_seed(33)
N, D = 800, 16
proj = torch.randn(D, 1) / D**0.5
feats = torch.randn(N, D)
resp = feats @ proj + 0.3 * (feats[:, :1] * feats[:, 1:2]) + 0.05 * torch.randn(N, 1)
train_x, train_y = feats[:640], resp[:640]
test_x, test_y = feats[640:], resp[640:]

model = nn.Sequential(nn.Linear(D, 64), nn.GELU(), nn.Linear(64, 1))
model = model.to(torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.01)
loss_fn = nn.MSELoss()

for epoch in range(10):
    for idx in torch.randperm(640).split(32):
        xb, yb = train_x[idx], train_y[idx]
        optimizer.zero_grad()
        out = model(xb.to(torch.bfloat16))
        loss = loss_fn(out.float(), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    out = model(test_x.to(next(model.parameters()).dtype))
    print("test mse", loss_fn(out.float(), test_y).item())
