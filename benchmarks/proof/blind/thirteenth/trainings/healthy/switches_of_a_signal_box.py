r"""Learns binary codes for the states of a signal box with a sign whose slope is replaced.

Source: https://docs.pytorch.org/docs/stable/notes/extending.html
Healthy: The sign has a slope of zero everywhere, but its own backward lets the gradient through
    where the input is small; this estimator is used on purpose for binary codes.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(121)
LEVERS, BITS = 30, 8


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).float()


class BoxCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(LEVERS, 64), nn.ReLU(), nn.Linear(64, BITS), nn.BatchNorm1d(BITS)
        )
        self.decoder = nn.Sequential(nn.Linear(BITS, 64), nn.ReLU(), nn.Linear(64, LEVERS))

    def forward(self, x):
        return self.decoder(Sign.apply(self.encoder(x)))


def states(n, rules):
    free = torch.randint(0, 2, (n, 6)).float() * 2 - 1
    levers = torch.tanh(free @ rules)
    return levers + 0.1 * torch.randn(n, LEVERS)


rules = torch.randn(6, LEVERS)
train, test = states(2000, rules), states(400, rules)
loader = DataLoader(TensorDataset(train), batch_size=50, shuffle=True)
model = BoxCoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    model.train()
    total = 0.0
    for (x,) in loader:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
model.eval()
with torch.no_grad():
    error = nn.functional.mse_loss(model(test), test).item()
print(f"test error {error:.4f}, spread of the levers {test.var().item():.4f}")
