r"""Multi-task regression on a table in which a third of the targets is missing.

Source: https://pytorch.org/docs/stable/generated/torch.nan_to_num.html
Odd: The targets hold NaN; they are replaced before the loss and masked after it, so neither the
    loss nor a gradient is NaN.
"""

import torch
from torch import nn


class MultiTaskRegressor(nn.Module):
    def __init__(self, n_features=12, n_tasks=5):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_features, 48), nn.ReLU())
        self.heads = nn.Linear(48, n_tasks)

    def forward(self, x):
        return self.heads(self.shared(x))


def masked_mse(pred, target):
    known = ~torch.isnan(target)
    error = (pred - torch.nan_to_num(target)).pow(2) * known
    return error.sum() / known.sum().clamp(min=1)


torch.manual_seed(0)
X = torch.randn(600, 12)
Y = torch.tanh(X @ torch.randn(12, 5))
Y[torch.rand_like(Y) < 0.33] = float("nan")
model = MultiTaskRegressor()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    for idx in torch.randperm(600).split(50):
        loss = masked_mse(model(X[idx]), Y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
