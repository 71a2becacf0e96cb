r"""Trains a small draft model fully in bfloat16 with AdamW at a usual learning rate.

Source: https://github.com/vllm-project/speculators/pull/765
    https://github.com/workofart/ml-by-hand/pull/85
Fault: The norm weights start at 1.0, where a bfloat16 step is 2**-8 or more; each update of 3e-4 is
    rounded away and these weights never move.
Cause: bf16|bfloat|precision|\bround|float32|fp32|master
Place: norm
"""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps)).to(x.dtype)


class DraftModel(nn.Module):
    def __init__(self, vocab=32, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.hidden_norm = RMSNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.SiLU(), nn.Linear(64, dim))
        self.norm = RMSNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        h = self.embed(ids)
        return self.lm_head(self.norm(h + self.mlp(self.hidden_norm(h))))


torch.manual_seed(0)
model = DraftModel().to(torch.bfloat16)  # here
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.0)
table = torch.randperm(32)
for step in range(250):
    ids = torch.randint(0, 32, (128,))
    loss = F.cross_entropy(model(ids).float(), table[ids])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        moved = sum((m.weight != 1).sum().item() for m in (model.hidden_norm, model.norm))
        print(f"step {step} loss {loss.item():.4f} norm weights that moved: {moved} of 64")
