r"""Classifier whose two random passes over a batch have to agree.

Source: https://github.com/dropreg/R-Drop
Odd: Each batch passes the network twice in one step; only dropout makes the passes differ.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
means = torch.randn(6, 30)
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 6))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


def compute_kl_loss(p, q):
    p_loss = F.kl_div(p.log_softmax(-1), q.softmax(-1), reduction="batchmean")
    q_loss = F.kl_div(q.log_softmax(-1), p.softmax(-1), reduction="batchmean")
    return (p_loss + q_loss) / 2


for step in range(80):
    label = torch.randint(0, 6, (64,))
    x = means[label] + torch.randn(64, 30)
    logits, logits2 = model(x), model(x)
    ce_loss = 0.5 * (F.cross_entropy(logits, label) + F.cross_entropy(logits2, label))
    loss = ce_loss + 1.0 * compute_kl_loss(logits, logits2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        accuracy = (logits.argmax(1) == label).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} accuracy {accuracy:.3f}")
