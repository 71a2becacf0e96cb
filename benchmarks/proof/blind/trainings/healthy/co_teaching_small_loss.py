r"""Co-teaching with noisy labels: each network picks the small-loss samples for its peer.

Source: https://github.com/bhanML/Co-teaching/blob/master/loss.py
Odd: Up to a third of each batch is thrown away and the training accuracy stays near 70 per cent; a
    third of the labels is wrong, and the accuracy on clean labels is high.
"""

import torch
import torch.nn.functional as F
from torch import nn


def loss_coteaching(y_1, y_2, t, forget_rate):
    loss_1 = F.cross_entropy(y_1, t, reduction="none")
    loss_2 = F.cross_entropy(y_2, t, reduction="none")
    keep = int((1 - forget_rate) * len(t))
    ind_1, ind_2 = loss_1.detach().argsort()[:keep], loss_2.detach().argsort()[:keep]
    return F.cross_entropy(y_1[ind_2], t[ind_2]), F.cross_entropy(y_2[ind_1], t[ind_1])


torch.manual_seed(1)
centers = torch.randn(4, 20)
nets = [nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4)) for _ in range(2)]
opts = [torch.optim.Adam(net.parameters(), lr=2e-3) for net in nets]
for step in range(200):
    clean = torch.randint(0, 4, (128,))
    x = centers[clean] + 0.7 * torch.randn(128, 20)
    noisy = torch.where(torch.rand(128) < 0.33, (clean + 1) % 4, clean)
    out = [net(x) for net in nets]
    losses = loss_coteaching(*out, noisy, forget_rate=min(0.33, 0.33 * step / 50))
    for opt, loss in zip(opts, losses, strict=True):
        opt.zero_grad()
        loss.backward()
        opt.step()
    if step % 40 == 39:
        train = (out[0].argmax(1) == noisy).float().mean().item()
        test = (out[0].argmax(1) == clean).float().mean().item()
        print(f"{step} loss {losses[0].item():.4f} noisy {train:.3f} clean {test:.3f}")
