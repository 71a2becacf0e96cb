r"""Tells stains apart by their spectrum; each parameter is stepped as soon as it has a gradient.

Source: https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html
Healthy: The loop calls neither step nor zero_grad, because a hook at each parameter does both
    during backward, which saves the memory of the gradients.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(127)
STAINS, BANDS = 5, 32


def spectra(n, colours):
    stain = torch.randint(0, STAINS, (n,))
    strength = 0.5 + torch.rand(n, 1)
    return colours[stain] * strength + 0.8 * torch.randn(n, BANDS), stain


colours = torch.randn(STAINS, BANDS)
loader = DataLoader(TensorDataset(*spectra(1500, colours)), batch_size=50, shuffle=True)
test_x, test_y = spectra(500, colours)

model = nn.Sequential(
    nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, STAINS)
)
optimizers = {p: torch.optim.Adam([p], lr=1e-3, foreach=False) for p in model.parameters()}


def step_at_once(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step_at_once)

for epoch in range(8):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")

with torch.no_grad():
    right = (model(test_x).argmax(1) == test_y).float().mean().item()
print(f"test accuracy {right:.3f}")
