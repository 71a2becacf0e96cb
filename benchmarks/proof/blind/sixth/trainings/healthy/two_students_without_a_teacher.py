r"""Two networks which learn from labels and from each other.

Source: https://arxiv.org/abs/1706.00384
Odd: Each network is the target of the other while both change; each of the two losses is between a
    network and the detached output of the other.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)
rule = torch.randn(20, 5)


def batch(count=96):
    x = torch.randn(count, 20)
    y = (torch.tanh(x) @ rule + 0.5 * torch.randn(count, 5)).argmax(1)
    return x, y


peers = [
    nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 5)),
    nn.Sequential(nn.Linear(20, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 5)),
]
optimizers = [torch.optim.SGD(p.parameters(), lr=0.1, momentum=0.9) for p in peers]
for step in range(110):
    x, y = batch()
    outputs = [peer(x) for peer in peers]
    for i, optimizer in enumerate(optimizers):
        own, other = outputs[i], outputs[1 - i].detach()
        ce = F.cross_entropy(own, y)
        kl = F.kl_div(F.log_softmax(own, 1), F.softmax(other, 1), reduction="batchmean")
        loss = ce + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 22 == 0:
        print(f"step {step} loss of the second {loss.item():.3f} of which {kl.item():.3f} mutual")
x, y = batch(2000)
for peer in peers:
    print(f"accuracy {(peer(x).argmax(1) == y).float().mean().item():.3f}")
