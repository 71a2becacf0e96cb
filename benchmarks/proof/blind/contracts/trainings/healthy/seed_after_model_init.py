r"""A training of `Spiral`.

Source: https://docs.pytorch.org/docs/stable/notes/randomness.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Spiral(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, p):
        return self.net(p)


def make_data(n):
    t = torch.rand(n) * 5
    arm = torch.randint(0, 2, (n,))
    a = t + arm * 3.1416
    pts = torch.stack([t * a.cos(), t * a.sin()], 1) / 5 + 0.02 * torch.randn(n, 2)
    return pts, arm


torch.manual_seed(276)
model = Spiral()
x, y = make_data(700)
loader = DataLoader(TensorDataset(x[:560], y[:560]), batch_size=56, shuffle=True)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(16):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")
with torch.no_grad():
    print("acc", (model(x[560:]).argmax(1) == y[560:]).float().mean().item())
