"""Patterns with a net that may only move along a few random directions.

Source: https://github.com/uber-research/intrinsic-dimension
Odd: The weights of the net are buffers that are never trained, the only parameter is a short
    vector that starts at zero and is multiplied by a fixed random matrix.
"""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(1021)
CLASSES, PIXELS, DIMENSION = 5, 24, 60
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 0.8 * torch.randn(count, PIXELS), label


class Subspace(nn.Module):
    def __init__(self, net, dimension):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(dimension))
        self.shapes = {name: p.shape for name, p in net.named_parameters()}
        start = torch.cat([p.detach().flatten() for p in net.parameters()])
        basis = torch.randn(len(start), dimension)
        self.register_buffer("start", start)
        self.register_buffer("basis", basis / basis.norm(dim=0))
        self.skeleton = [net.requires_grad_(False)]

    def weights(self):
        flat = self.start + self.basis @ self.theta
        parts = flat.split([shape.numel() for shape in self.shapes.values()])
        return {
            name: part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def forward(self, x):
        return functional_call(self.skeleton[0], self.weights(), x)


net = nn.Sequential(
    nn.Linear(PIXELS, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, CLASSES)
)
model = Subspace(net, DIMENSION)
print(f"{DIMENSION} numbers for {len(model.start)} weights")
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
test_x, test_y = draw(500)
for step in range(300):
    x, y = draw(64)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} test {accuracy:.3f}")
