r"""Two optimizers in one step: one for the matrices and one for all else.

Source: https://github.com/KellerJordan/Muon
Odd: The step of a matrix does not depend on the size of its gradient, its rate is far above the
    other one, and a polynomial with odd constants stands in place of a decomposition.
"""

import torch
import torch.nn.functional as F
from torch import nn


def zeropower_via_newtonschulz5(G, steps=5):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G / (G.norm() + 1e-7)
    if G.size(0) > G.size(1):
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if G.size(0) > G.size(1) else X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = zeropower_via_newtonschulz5(p.grad.lerp(buffer, group["momentum"]))
                scale = max(1, p.size(0) / p.size(1)) ** 0.5
                p.add_(update, alpha=-group["lr"] * scale)


torch.manual_seed(18)
teacher = torch.randn(24, 6)
model = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 6))
hidden = [model[0].weight, model[2].weight]
others = [p for p in model.parameters() if all(p is not h for h in hidden)]
optimizers = [Muon(hidden, lr=0.02), torch.optim.AdamW(others, lr=3e-3, weight_decay=0.0)]
for step in range(110):
    x = torch.randn(128, 24)
    y = (torch.sin(x) @ teacher).argmax(1)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad(set_to_none=True)
    if step % 22 == 0:
        print(f"step {step} loss {loss.item():.3f}")
with torch.no_grad():
    x = torch.randn(2000, 24)
    accuracy = (model(x).argmax(1) == (torch.sin(x) @ teacher).argmax(1)).float().mean().item()
print(f"last loss {loss.item():.3f}, accuracy {accuracy:.3f}")
