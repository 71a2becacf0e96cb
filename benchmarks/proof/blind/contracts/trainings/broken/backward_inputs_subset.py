r"""A training of `TwoPart`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
Fault: backward(inputs=...) names only the head's parameters, so the other parameters of the
    optimizer get no gradient and stay untrained.
Cause: inputs ?=|backward.{0,60}inputs
    |(param|layer|base)\w*.{0,80}(no|never|not|without|none).{0,30}(grad|train|updat)
    |grad\w*.{0,60}(only|none|never|missing)
"""

import torch
from torch import nn

torch.manual_seed(264)
n = 640
x = torch.randn(n, 6)
y = torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.05 * torch.randn(n, 1)


class TwoPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.head = nn.Linear(32, 1)

    def forward(self, v):
        return self.head(self.base(v))


model = TwoPart()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
wanted = list(model.head.parameters())
for epoch in range(15):
    model.train()
    total = 0.0
    for idx in torch.randperm(512).split(64):
        optimizer.zero_grad()
        loss = loss_fn(model(x[idx]), y[idx])
        loss.backward(inputs=wanted)
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / 8:.4f}")
model.eval()
with torch.no_grad():
    print("val", loss_fn(model(x[512:]), y[512:]).item())
