"""Trains with per-sample clipping and noise, as differentially private training does.

Source: https://github.com/meta-pytorch/opacus/blob/main/tutorials/building_image_classifier.ipynb
Odd: .grad is written by hand, each sample's gradient is clipped and noise is added, so no step
    follows the true gradient; the loss falls all the same.
"""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(12)
MAX_GRAD_NORM, NOISE = 1.0, 0.6
centres = torch.randn(4, 16)
y = torch.randint(0, 4, (1000,))
x = centres[y] + 0.6 * torch.randn(1000, 16)
model = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)


def sample_loss(params, xi, yi):
    logits = functional_call(model, params, (xi[None],))
    return nn.functional.cross_entropy(logits, yi[None])


per_sample = vmap(grad(sample_loss), in_dims=(None, 0, 0))
for step in range(60):
    rows = torch.randint(0, 1000, (100,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    grads = per_sample(params, x[rows], y[rows])
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (MAX_GRAD_NORM / (norms + 1e-6)).clamp(max=1.0)
    for name, p in model.named_parameters():
        summed = torch.einsum("n,n...->...", factor, grads[name])
        p.grad = (summed + NOISE * MAX_GRAD_NORM * torch.randn_like(p)) / len(rows)
    optimizer.step()
    if step % 10 == 0 or step == 59:
        with torch.no_grad():
            loss = nn.functional.cross_entropy(model(x), y).item()
        print(f"step {step} loss {loss:.4f} median norm {norms.median().item():.3f}")
