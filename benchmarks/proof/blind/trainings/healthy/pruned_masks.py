r"""Retrains a network after 90 per cent of the weights of its hidden layer were pruned.

Source: https://pytorch.org/tutorials/intermediate/pruning_tutorial.html
    https://github.com/pytorch/pytorch/blob/main/torch/nn/utils/prune.py
Odd: Nine of ten weights have a gradient of exactly zero in every step; they are masked out, and the
    rest recovers the accuracy.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 3)
)
x = torch.randn(800, 20)
y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] * x[:, 4] > 0).long()


def finetune(steps, tag):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        idx = torch.randint(0, 800, (64,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"{tag} step {step} loss {loss.item():.4f}")


finetune(80, "dense")
prune.l1_unstructured(model[2], name="weight", amount=0.9)
finetune(120, "pruned")
zeros = (model[2].weight == 0).float().mean().item()
acc = (model(x).argmax(1) == y).float().mean().item()
print(f"sparsity {zeros:.2f} accuracy {acc:.3f}")
