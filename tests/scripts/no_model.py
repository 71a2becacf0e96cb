"""The largest eigenvalue by power iteration: torch, and nothing to train."""

import sys

import torch

torch.manual_seed(0)
a = torch.rand(20, 20)
a = a @ a.T
v = torch.ones(20)
for i in range(10):
    v = a @ v
    v /= v.norm()
    print(i, (v @ a @ v).item())
torch.save(v, sys.argv[1])
sys.exit(0 if (v @ a @ v) > 1 else 1)
