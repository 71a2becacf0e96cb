r"""Embedding of pictures in which every picture is a class of its own.

Source: https://github.com/mangye16/Unsupervised_Embedding_Learning/issues/7
Fault: The conditions on the epoch stand in ascending order in one if-elif chain, the first is
    true from then on, so the later and smaller learning rates are never reached.
Cause: (elif|branch|condition|order|chain).{0,120}(unreach|never|order|first|ascend|true|dead)
    |(never|unreach|not).{0,60}(reach|decay|lower|drop|taken|execut|smaller|second|later)
    |learning rate.{0,100}(only|once|stay|stuck|never|not)
Place: adjust_learning_rate|epoch|elif|lr|if
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(161)
INSTANCES, PIXELS, GROUPS, EPOCHS, LR = 240, 40, 12, 24, 1.5
centre = torch.randn(GROUPS, PIXELS)
group = torch.arange(INSTANCES) % GROUPS
pictures = centre[group] + 0.7 * torch.randn(INSTANCES, PIXELS)


def adjust_learning_rate(optimizer, epoch):
    """Ten times lower after half of the epochs, and lower again twice."""
    lr = LR
    if epoch >= 10:  # here
        lr = LR * 0.3
    elif epoch >= 15:
        lr = LR * 0.03
    elif epoch >= 20:
        lr = LR * 0.003
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


def view(x):
    return x * (torch.rand_like(x) > 0.25) + 0.5 * torch.randn_like(x)


net = nn.Sequential(nn.Linear(PIXELS, 96), nn.ReLU(), nn.Linear(96, 16))
optimizer = torch.optim.SGD(net.parameters(), lr=LR)


def instance_loss(x, temperature=0.1):
    a, b = F.normalize(net(view(x)), dim=1), F.normalize(net(view(x)), dim=1)
    logits = a @ b.T / temperature
    return F.cross_entropy(logits, torch.arange(len(x)))


def neighbours():
    with torch.no_grad():
        z = F.normalize(net(pictures), dim=1)
    close = (z @ z.T).fill_diagonal_(-1).topk(5).indices
    return (group[close] == group[:, None]).float().mean().item()


for epoch in range(EPOCHS):
    adjust_learning_rate(optimizer, epoch)
    losses = []
    for rows in torch.randperm(INSTANCES).split(24):
        loss = instance_loss(pictures[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 4 == 3:
        spread = torch.tensor(losses)
        print(
            f"epoch {epoch + 1} lr {optimizer.param_groups[0]['lr']:.4f} "
            f"loss {spread.mean().item():.4f} neighbours of the same group {neighbours():.3f}"
        )
