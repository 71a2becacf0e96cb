r"""A training of `MLP`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.argmax.html
Fault: The accuracy takes argmax over dimension 0, the batch, instead of over the classes.
Cause: argmax|dim(ension)?.{0,20}0|batch (dim|axis)|over the batch|wrong (dim|axis)
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(206)
K = 10
mu = 1.5 * torch.randn(K, 12)
y = torch.randint(K, (700,))
x = mu[y] + torch.randn(700, 12)
train_dl = DataLoader(TensorDataset(x[:600], y[:600]), batch_size=60, shuffle=True)
test_dl = DataLoader(TensorDataset(x[600:], y[600:]), batch_size=K)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(12, 64)
        self.out = nn.Linear(64, K)

    def forward(self, v):
        return self.out(torch.relu(self.hidden(v)))


mlp = MLP()
opt = torch.optim.Adam(mlp.parameters(), lr=5e-3)
for epoch in range(8):
    mlp.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(mlp(xb), yb)
        loss.backward()
        opt.step()
    mlp.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            correct += (mlp(xb).argmax(0) == yb).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {correct / 100:.3f}")
