r"""Recognises knots from the bend along a rope and lowers the rate when the accuracy stalls.

Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
Healthy: The scheduler gets a number that rises in training, but its mode is max, so it acts only
    when the accuracy no longer improves.
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(107)
KNOTS, POINTS = 5, 48


def ropes(n, shapes):
    knot = torch.randint(0, KNOTS, (n,))
    bend = shapes[knot]
    shift = torch.randint(-4, 5, (n,))
    rows = torch.stack([torch.roll(b, s.item()) for b, s in zip(bend, shift)])
    return rows + 0.5 * torch.randn(n, POINTS), knot


class KnotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 7, padding=3)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.out = nn.Linear(32, KNOTS)

    def forward(self, x):
        h = torch.relu(self.conv(x.unsqueeze(1)))
        h = torch.relu(self.conv2(nn.functional.max_pool1d(h, 2)))
        return self.out(h.amax(2))


shapes = torch.randn(KNOTS, POINTS).cumsum(1)
shapes = (shapes - shapes.mean(1, keepdim=True)) / shapes.std(1, keepdim=True)
loader = DataLoader(TensorDataset(*ropes(800, shapes)), batch_size=40, shuffle=True)
valid_x, valid_y = ropes(300, shapes)
model = KnotNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.3, patience=2)
for epoch in range(16):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(valid_x).argmax(1) == valid_y).float().mean().item()
    scheduler.step(right)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: valid {right:.3f}, rate {optimizer.param_groups[0]['lr']:.5f}")
