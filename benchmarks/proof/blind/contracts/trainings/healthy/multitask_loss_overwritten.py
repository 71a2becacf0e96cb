r"""A training of `MultiTask`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(232)
x = torch.randn(700, 12)
W = torch.randn(12, 3)
targets = {
    "height": torch.tanh(x @ W[:, 0]),
    "weight": torch.tanh(x @ W[:, 1]),
    "age": torch.tanh(x @ W[:, 2]),
}


class MultiTask(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.heads = nn.ModuleDict({n: nn.Linear(48, 1) for n in names})

    def forward(self, v):
        h = self.trunk(v)
        return {n: head(h).squeeze(1) for n, head in self.heads.items()}


model = MultiTask(targets)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
mse = nn.MSELoss()
for epoch in range(8):
    for idx in torch.randperm(550).split(55):
        opt.zero_grad()
        out = model(x[idx])
        loss = 0.0
        for name, target in targets.items():
            loss += mse(out[name], target[idx])
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    out = model(x[550:])
    print({n: round(mse(out[n], t[550:]).item(), 4) for n, t in targets.items()})
