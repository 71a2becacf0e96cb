r"""Trains a small CNN under autocast with bfloat16 on the CPU.

Source: https://pytorch.org/docs/stable/amp.html
    https://github.com/milesial/Pytorch-UNet/blob/master/train.py
Odd: The activations have eight bits of precision and the logits look coarse; the weights and their
    updates stay in float32, and no gradient scaler is needed for bfloat16.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(16 * 12, 4)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(120):
    target = torch.randint(0, 4, (32,))
    t = torch.arange(24).float()
    signal = torch.sin(0.3 * (target[:, None] + 1) * t + 6.28 * torch.rand(32, 1))
    signal = (signal + 0.3 * torch.randn(32, 24)).unsqueeze(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(signal)
        loss = F.cross_entropy(logits, target)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 24 == 23:
        print(f"step {step} loss {loss.item():.4f} logits {logits.dtype}")
