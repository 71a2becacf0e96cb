r"""Learns embeddings with batch-hard triplets.

Source: https://github.com/omoindrot/tensorflow-triplet-loss/issues/6
    https://github.com/xiaolonw/caffe-video_triplet/issues/8
Fault: The learning rate is hundreds of times too high; the embeddings explode and the loss jumps
    between zero and huge values instead of falling.
Cause: learning rate|\blr\b|explod|diverg|step size
"""

import torch
import torch.nn.functional as F
from torch import nn


def batch_hard_triplet_loss(labels, embeddings, margin=0.5):
    dist = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    hardest_positive = dist.masked_fill(~same, 0).max(1).values
    hardest_negative = dist.masked_fill(same, 1e6).min(1).values
    return F.relu(hardest_positive - hardest_negative + margin).mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=0.3)  # here
prototypes = torch.randn(8, 20)
for step in range(150):
    labels = torch.arange(8).repeat_interleave(6)
    features = prototypes[labels] + 0.6 * torch.randn(48, 20)
    embeddings = model(features)
    loss = batch_hard_triplet_loss(labels, embeddings)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        spread = embeddings.std(0).mean().item()
        print(
            f"step {step} loss {loss.item():.4f} margin 0.5 spread of the embeddings {spread:.4f}"
        )
