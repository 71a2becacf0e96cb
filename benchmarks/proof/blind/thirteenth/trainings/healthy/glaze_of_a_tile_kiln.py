r"""Predicts the colour of a glaze with bfloat16 in the forward pass and a scaled loss.

Source: https://docs.pytorch.org/docs/stable/notes/amp_examples.html
Healthy: The loss is multiplied by a large factor before backward, but the gradients are unscaled
    before they are clipped, and the scaler takes the factor out of the step.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(119)


def glazes(n):
    mix = torch.rand(n, 6)
    share = mix / mix.sum(1, keepdim=True)
    heat = torch.rand(n, 1)
    red = share[:, :1] * (1 - heat) + 0.3 * share[:, 1:2]
    green = share[:, 2:3] * heat + 0.2 * share[:, 3:4]
    blue = share[:, 4:5] + 0.5 * share[:, :1] * heat
    colour = torch.cat([red, green, blue], 1) * 3
    return torch.cat([share * 6 - 1, heat * 2 - 1], 1), colour + 0.02 * torch.randn(n, 3)


class GlazeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
        )

    def forward(self, x):
        return self.layers(x)


loader = DataLoader(TensorDataset(*glazes(1500)), batch_size=50, shuffle=True)
test_x, test_y = glazes(400)
model = GlazeNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for epoch in range(15):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            guess = model(x)
        loss = nn.functional.mse_loss(guess.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
with torch.no_grad():
    error = nn.functional.mse_loss(model(test_x), test_y).item()
print(f"test error {error:.4f}, spread {test_y.var(0).mean().item():.4f}")
