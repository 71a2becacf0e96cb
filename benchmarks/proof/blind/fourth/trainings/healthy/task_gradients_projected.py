r"""Two tasks whose gradients are made not to oppose each other.

Source: https://github.com/WeiChengTseng/Pytorch-PCGrad/blob/master/pcgrad.py
Odd: There is a backward for each task; gradients are projected and then written into .grad by hand.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 12)
price = (x[:, :2].sum(1) + x[:, 2] * x[:, 3])[:, None]
kind = (x[:, 0] - x[:, 1] > 0).long()
trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU())
heads = nn.ModuleList([nn.Linear(64, 1), nn.Linear(64, 2)])
params = [*trunk.parameters(), *heads.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-2)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    features = trunk(x[index])
    losses = [
        nn.functional.mse_loss(heads[0](features), price[index]),
        nn.functional.cross_entropy(heads[1](features), kind[index]),
    ]
    flat = []
    for loss in losses:
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        flat.append(
            torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in params]
            )
        )
    projected = [g.clone() for g in flat]
    for i, j in ((0, 1), (1, 0)):
        dot = projected[i] @ flat[j]
        if dot < 0:
            projected[i] -= dot / flat[j].square().sum() * flat[j]
    merged = (projected[0] + projected[1]).split([p.numel() for p in params])
    for p, g in zip(params, merged, strict=True):
        p.grad = g.view_as(p).clone()
    optimizer.step()
print(f"price {losses[0].item():.3f} of {price.var().item():.2f}, kind {losses[1].item():.3f}")
