"""Codes of short clips, told from the codes of many others by a second view of the same clip.

Source: https://github.com/amazon-science/video-contrastive-learning/issues/5
Odd: All labels of the cross entropy are zero; the code of the same clip is always put in the first
    column of the scores, so class 0 is the right one for every row.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(15)
KINDS, FRAMES, QUEUE, DIM = 16, 24, 256, 16
motion = torch.randn(KINDS, FRAMES)
hum = torch.randn(3, FRAMES)


def clips(count):
    kinds = torch.randint(0, KINDS, (count,))
    noise = torch.randn(count, 3) @ hum + 0.3 * torch.randn(count, FRAMES)
    return motion[kinds] + noise, kinds


def view(x):
    keep = (torch.rand_like(x) > 0.1).float()
    other = torch.randn(len(x), 3) @ hum
    return (x + other) * keep


class NCESoftmaxLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.criterion(x, torch.zeros(len(x), dtype=torch.long))


def encoder():
    return nn.Sequential(nn.Linear(FRAMES, 64), nn.ReLU(), nn.Linear(64, DIM))


query, key = encoder(), encoder()
key.load_state_dict(query.state_dict())
for p in key.parameters():
    p.requires_grad_(False)
queue = F.normalize(torch.randn(QUEUE, DIM))
criterion = NCESoftmaxLoss()
optimizer = torch.optim.Adam(query.parameters(), lr=2e-3, weight_decay=1e-5)


@torch.no_grad()
def neighbours():
    (a, ka), (b, kb) = clips(300), clips(300)
    scores = F.normalize(query(a)) @ F.normalize(query(b)).T
    return (kb[scores.argmax(1)] == ka).float().mean().item()


print(f"before nearest of the same kind {neighbours():.3f}")
for step in range(300):
    x, _ = clips(32)
    q = F.normalize(query(view(x)))
    with torch.no_grad():
        for slow, fast in zip(key.parameters(), query.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
        k = F.normalize(key(view(x)))
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.2
    loss = criterion(logits)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue = torch.cat([k, queue])[:QUEUE]
    if step % 60 == 59:
        print(f"step {step + 1} loss {loss.item():.4f} nearest of the same kind {neighbours():.3f}")
