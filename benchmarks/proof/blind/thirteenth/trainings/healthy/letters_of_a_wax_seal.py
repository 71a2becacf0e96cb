r"""Squeezes prints of wax seals into three symbols of an alphabet of eight and rebuilds them.

Source: https://docs.pytorch.org/docs/stable/distributions.html
Healthy: The code is a hard one-hot sample, yet the gradient passes, because the straight-through
    variant of the distribution has rsample; in the test the most probable symbol is taken.
"""
import torch
from torch import nn
from torch.distributions import OneHotCategoricalStraightThrough
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(117)
SLOTS, SYMBOLS, POINTS = 3, 8, 36


def prints(n, parts):
    which = torch.randint(0, SYMBOLS, (n, SLOTS))
    picture = sum(parts[s][which[:, s]] for s in range(SLOTS))
    return picture + 0.1 * torch.randn(n, POINTS)


class SealCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(POINTS, 64), nn.ReLU(),
                                     nn.Linear(64, SLOTS * SYMBOLS))
        self.decoder = nn.Sequential(nn.Linear(SLOTS * SYMBOLS, 64), nn.ReLU(),
                                     nn.Linear(64, POINTS))

    def forward(self, x):
        logits = self.encoder(x).view(-1, SLOTS, SYMBOLS)
        symbols = OneHotCategoricalStraightThrough(logits=logits)
        if self.training:
            code = symbols.rsample()
        else:
            code = nn.functional.one_hot(logits.argmax(-1), SYMBOLS).float()
        return self.decoder(code.flatten(1)), symbols.entropy().mean()


parts = torch.randn(SLOTS, SYMBOLS, POINTS) * torch.tensor([1.0, 0.7, 0.5]).view(3, 1, 1)
train, test = prints(2000, parts), prints(400, parts)
loader = DataLoader(TensorDataset(train), batch_size=50, shuffle=True)
model = SealCoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(16):
    model.train()
    total = 0.0
    for (x,) in loader:
        rebuilt, entropy = model(x)
        loss = nn.functional.mse_loss(rebuilt, x) - 1e-3 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
model.eval()
with torch.no_grad():
    error = nn.functional.mse_loss(model(test)[0], test).item()
print(f"test error {error:.4f}, spread {test.var().item():.4f}")
