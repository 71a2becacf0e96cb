r"""Finetuning with accumulated gradients and a limit on their norm.

Source: https://github.com/huggingface/transformers/issues/1563
Fault: The norm is limited after each backward, so the sum that the step uses is weighted wrongly.
Cause: clip\w*
Place: clip_grad_norm_|max_grad_norm
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(384, 24)
y = (x[:, :6].sum(1) + 0.3 * x[:, 6:12].square().sum(1) > 1.5).long()
model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
gradient_accumulation_steps, max_grad_norm = 4, 0.1
model.zero_grad()
for epoch in range(8):
    for step, index in enumerate(torch.randperm(384).split(8)):
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        loss = loss / gradient_accumulation_steps
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)  # here
        if (step + 1) % gradient_accumulation_steps == 0:
            optimizer.step()
            model.zero_grad()
print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
