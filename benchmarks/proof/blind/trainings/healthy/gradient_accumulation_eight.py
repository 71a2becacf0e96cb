r"""Accumulates the gradients of eight micro-batches before each step.

Source: https://github.com/karpathy/nanoGPT/blob/master/train.py
    https://github.com/pytorch/ignite/issues/583
Odd: Seven of eight iterations leave the weights as they are and the gradients grow; each loss is
    divided by eight, so the sum is the gradient of the large batch.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
gradient_accumulation_steps = 8
model = nn.Sequential(
    nn.Embedding(30, 16), nn.Flatten(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 30)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for iteration in range(1, 289):
    start = torch.randint(0, 30, (4, 1))
    window = (start + 2 * torch.arange(5)) % 30
    loss = F.cross_entropy(model(window[:, :4]), window[:, 4]) / gradient_accumulation_steps
    loss.backward()
    if iteration % gradient_accumulation_steps == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    if iteration % 48 == 0:
        print(f"iter {iteration} loss {loss.item() * gradient_accumulation_steps:.4f}")
