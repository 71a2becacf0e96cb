r"""Moves a classifier of bat calls to another forest: first the head, then also the body.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
Fault: The optimizer was built with the parameters that needed a gradient at the start, which is
    the head alone; the body is thawed later but never added to the optimizer, so it gets
    gradients and does not move.
Cause: add_param_group|not.*(in|added|part|given|passed|known|hand).*optimi[sz]er
    |optimi[sz]er.*(not|never|only|without|does not|head|lacks)|thaw.*(not|never)
    |unfr[eo]\w*.*(not|never|no effect)
Place: optimi[sz]er|body|thaw|unfreeze
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(29)
SPECIES, BINS = 6, 60


def calls(n, shift, width, g):
    kind = torch.randint(0, SPECIES, (n,), generator=g)
    bins = torch.arange(BINS).float()
    centre = 8 + 7 * kind.float() + shift + torch.randn(n, generator=g)
    call = torch.exp(-((bins - centre[:, None]) / width) ** 2)
    second = 0.5 * torch.exp(-((bins - 1.15 * centre[:, None]) / (2 * width)) ** 2)
    return call + second + 0.35 * torch.randn(n, BINS, generator=g), kind


def epoch_of(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


g = torch.Generator().manual_seed(1)
old = DataLoader(TensorDataset(*calls(1500, 0.0, 1.5, g)), batch_size=50, shuffle=True)
new = DataLoader(TensorDataset(*calls(900, 3.5, 2.5, g)), batch_size=50, shuffle=True)
test = calls(600, 3.5, 2.5, g)

body = nn.Sequential(nn.Linear(BINS, 64), nn.ReLU(), nn.Linear(64, 12), nn.ReLU())
model = nn.Sequential(body, nn.Linear(12, SPECIES))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(12):
    epoch_of(model, old, optimizer)
print(f"old net in the new forest: {accuracy(model, *test):.3f}")

for p in body.parameters():
    p.requires_grad = False
model[1] = nn.Linear(12, SPECIES)
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trainable, lr=3e-3)
for epoch in range(24):
    if epoch == 8:
        print(f"head alone: {accuracy(model, *test):.3f}")
        for p in body.parameters():
            p.requires_grad = True  # here
    loss = epoch_of(model, new, optimizer)
    if epoch % 8 == 7:
        print(f"epoch {epoch + 1}: loss {loss:.4f}")
print(f"head and body: {accuracy(model, *test):.3f}")
