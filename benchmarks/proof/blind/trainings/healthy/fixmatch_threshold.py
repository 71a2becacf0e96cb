r"""Semi-supervised learning with pseudo-labels above a confidence threshold.

Source: https://github.com/kekmodel/FixMatch-pytorch/blob/master/train.py
Odd: The unsupervised loss is zero in the first steps, because no pseudo-label is confident enough,
    and rises later; the accuracy grows with it.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
centers = torch.randn(4, 16)
y_lab = torch.arange(4).repeat_interleave(4)
x_lab = centers[y_lab] + 0.6 * torch.randn(16, 16)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
for step in range(200):
    y_u = torch.randint(0, 4, (96,))
    x_u = centers[y_u] + 0.6 * torch.randn(96, 16)
    x_weak, x_strong = x_u + 0.05 * torch.randn_like(x_u), x_u * (torch.rand_like(x_u) > 0.3)
    logits_x, logits_w, logits_s = model(torch.cat([x_lab, x_weak, x_strong])).split([16, 96, 96])
    max_probs, targets_u = logits_w.detach().softmax(-1).max(-1)
    mask = (max_probs >= 0.95).float()
    loss_x = F.cross_entropy(logits_x, y_lab)
    loss_u = (F.cross_entropy(logits_s, targets_u, reduction="none") * mask).mean()
    optimizer.zero_grad()
    (loss_x + loss_u).backward()
    optimizer.step()
    if step in (0, 20, 60, 120, 199):
        acc = (logits_w.argmax(1) == y_u).float().mean().item()
        print(
            f"{step} loss_x {loss_x:.4f} loss_u {loss_u:.4f} mask {mask.mean():.2f} acc {acc:.3f}"
        )
