r"""Distils a large model into a small one with a soft loss and a hard loss.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66
Fault: the soft probabilities of the student are computed from the teacher's logits, so the soft
    loss is constantly zero and nothing is distilled.
Cause: large_logits|teacher\b.*\b(itself|twice|both)|same
    logits|(soft|kl|distill)\w*\b.*\b(zero|0|constant)\b|wrong logits
Place: soft_prob|large_logits|soft_loss
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)
temperature = 4.0
x = torch.randn(400, 16)
y = (x[:, :4] ** 2).argmax(1)
large = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 4))
teaching = torch.optim.Adam(large.parameters(), lr=1e-2)
for _ in range(60):
    loss = F.cross_entropy(large(x), y)
    teaching.zero_grad()
    loss.backward()
    teaching.step()
large.eval()

small = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(small.parameters(), lr=5e-3)
for epoch in range(8):
    soft_total, hard_total = 0.0, 0.0
    for rows in torch.randperm(400).split(50):
        with torch.no_grad():
            large_logits = large(x[rows])
        output = small(x[rows])
        soft_targets = F.log_softmax(large_logits / temperature, dim=-1)
        soft_prob = F.log_softmax(large_logits / temperature, dim=-1)  # here
        soft_loss = F.kl_div(soft_prob, soft_targets, reduction="batchmean", log_target=True)
        label_loss = F.cross_entropy(output, y[rows])
        loss = temperature**2 * 0.9 * soft_loss + 0.1 * label_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        soft_total += soft_loss.item() / 8
        hard_total += label_loss.item() / 8
    print(f"epoch {epoch} soft {soft_total:.5f} hard {hard_total:.4f}")
