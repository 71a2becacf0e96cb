r"""Self-supervised clustering with codes swapped between two views.

Source: https://github.com/facebookresearch/swav/blob/main/main_swav.py
Odd: The gradient of the prototypes is thrown away at first, and all of them are normed in place.
"""

import torch
from torch import nn
from torch.nn import functional as F


@torch.no_grad()
def sinkhorn(out, eps=0.1, iterations=3):
    Q = torch.exp(out / eps).t()
    Q /= Q.sum()
    K, B = Q.shape
    for _ in range(iterations):
        Q /= Q.sum(dim=1, keepdim=True) * K
        Q /= Q.sum(dim=0, keepdim=True) * B
    return (Q * B).t()


class Net(nn.Module):
    def __init__(self, dim=20, feat=16, prototypes=8):
        super().__init__()
        self.projection = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, feat))
        self.prototypes = nn.Linear(feat, prototypes, bias=False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.projection(x), dim=1))


torch.manual_seed(0)
centres = 1.5 * torch.randn(8, 20)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-6)
freeze_prototypes_niters, temperature = 10, 0.2
for iteration in range(100):
    with torch.no_grad():
        model.prototypes.weight.copy_(F.normalize(model.prototypes.weight, dim=1))
    group = torch.randint(0, 8, (128,))
    views = [centres[group] + 0.7 * torch.randn(128, 20) for _ in range(2)]
    outputs = [model(view) for view in views]
    codes = [sinkhorn(out.detach()) for out in outputs]
    loss = 0.0
    for code, out in zip(codes, reversed(outputs), strict=True):
        loss = loss - 0.5 * (code * F.log_softmax(out / temperature, dim=1)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    if iteration < freeze_prototypes_niters:
        for name, p in model.named_parameters():
            if "prototypes" in name:
                p.grad = None
    optimizer.step()
    if iteration % 25 == 24:
        print(f"iteration {iteration + 1} loss {loss.item():.4f}")
assigned = outputs[0].argmax(1)
pure = sum(group[assigned == k].bincount().max().item() for k in assigned.unique()) / 128
print(f"purity of the clusters {pure:.3f}")
