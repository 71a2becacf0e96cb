r"""Emblems of clubs and their shares in pictures where two of them are laid over each other.

Source: https://github.com/huggingface/pytorch-image-models/issues/50
Fault: The batch is first multiplied in place by the share and then the flipped product is added, so
    the second picture comes in with lam (1 - lam) and not with (1 - lam) as its label says.
Cause: in.?place|(order|sequence).{0,60}(mix|operation|multipl)|(flip|second|other|mixed
    |input).{0,100}(scaled twice|already (scaled|multiplied|changed|modified)
    |lam ?\* ?\(1 ?- ?lam\)|twice|multiplied by lam|overwritten|too (weak|small|dark|faint))
    |(already|after).{0,30}(multipl|scal|modif|chang)
Place: mixup|mul_|add_|lam|input|pictures
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(50)
CLUBS, SIZE = 20, 10
emblems = torch.randn(CLUBS, 1, SIZE, SIZE)
beta = torch.distributions.Beta(1.0, 1.0)


def pictures_of(clubs):
    return emblems[clubs] + 0.8 * torch.randn(len(clubs), 1, SIZE, SIZE)


def mixup_batch(input, target):
    lam = beta.sample().item()
    input.mul_(lam).add_(input.flip(0), alpha=1 - lam)  # here
    one_hot = F.one_hot(target, CLUBS).float()
    return input, lam * one_hot + (1 - lam) * one_hot.flip(0)


train_clubs = torch.arange(CLUBS).repeat(30)
train = pictures_of(train_clubs)
val_clubs = torch.arange(CLUBS).repeat(30)[torch.randperm(CLUBS * 30)]
val = pictures_of(val_clubs)
net = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, 128), nn.ReLU(), nn.Linear(128, CLUBS))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(20):
    total = 0.0
    batches = torch.randperm(len(train)).split(40)
    for rows in batches:
        input, target = mixup_batch(train[rows], train_clubs[rows])
        loss = -(target * F.log_softmax(net(input), 1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        with torch.no_grad():
            shares = net(0.3 * val + 0.7 * val.flip(0)).softmax(1)
        first = shares.gather(1, val_clubs[:, None]).mean().item()
        second = shares.gather(1, val_clubs.flip(0)[:, None]).mean().item()
        mean = total / len(batches)
        print(f"epoch {epoch + 1} loss {mean:.4f} shares {first:.3f} (0.3) {second:.3f} (0.7)")
