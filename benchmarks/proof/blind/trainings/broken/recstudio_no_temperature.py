r"""Aligns two augmented views of user profiles with a contrastive loss.

Source: https://github.com/ustcllm/RecStudio/issues/21
    https://github.com/huiserwang/ContrastMask/issues/4
Fault: The similarities are cosines in [-1, 1] and no temperature divides them, so the softmax stays
    flat and the loss cannot fall far below log(batch).
Cause: temperature|scal\w+.*(logit|simil|cosine)|(cosine|simil)\w*.*(range|bounded|\[-1)
"""

import torch
import torch.nn.functional as F
from torch import nn


class InfoNCELoss(nn.Module):
    def forward(self, view_a, view_b):
        view_a, view_b = F.normalize(view_a, dim=1), F.normalize(view_b, dim=1)
        sim = view_a @ view_b.t()  # here
        return F.cross_entropy(sim, torch.arange(len(sim)))


class UserEncoder(nn.Module):
    def __init__(self, items=40, dim=16):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(items, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, history):
        return self.mlp(history)


def augment(history):
    return history * (torch.rand_like(history) > 0.3)


torch.manual_seed(2)
encoder, criterion = UserEncoder(), InfoNCELoss()
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for step in range(200):
    history = (torch.rand(128, 40) > 0.7).float()
    view_a, view_b = encoder(augment(history)), encoder(augment(history))
    loss = criterion(view_a, view_b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            sim = F.normalize(view_a, dim=1) @ F.normalize(view_b, dim=1).t()
        top1 = (sim.argmax(1) == torch.arange(128)).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} retrieval@1 {top1:.3f}")
