r"""Momentum contrast: keys from a slow encoder and a queue of negatives.

Source: https://github.com/facebookresearch/moco/blob/main/moco/builder.py
Odd: The key encoder and the queue have no gradients, and the loss rises at first while the queue
    fills with real keys; then it falls.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder_q = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
encoder_k = copy.deepcopy(encoder_q).requires_grad_(False)
queue, ptr, m, T = F.normalize(torch.randn(512, 16), dim=1), 0, 0.99, 0.2
optimizer = torch.optim.Adam(encoder_q.parameters(), lr=2e-3)
mix = torch.randn(6, 20)
for step in range(250):
    base = torch.randn(64, 6) @ mix
    im_q, im_k = base + 0.5 * torch.randn_like(base), base + 0.5 * torch.randn_like(base)
    q = F.normalize(encoder_q(im_q), dim=1)
    with torch.no_grad():
        for p_q, p_k in zip(encoder_q.parameters(), encoder_k.parameters(), strict=True):
            p_k.mul_(m).add_(p_q, alpha=1 - m)
        k = F.normalize(encoder_k(im_k), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / T
    loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue[ptr : ptr + 64] = k
    ptr = (ptr + 64) % 512
    if step in (0, 9, 49, 149, 249):
        acc = (logits.argmax(1) == 0).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} top1 {acc:.3f}")
