"""Patterns with a net that is pruned in rounds and put back to its first weights each time.

Source: https://github.com/rahulvigneswaran/Lottery-Ticket-Hypothesis-in-Pytorch
Odd: After each round the trained weights are thrown away and the first ones are loaded, most
    weights end at exactly zero and their gradients are set to zero by hand.
"""

import copy

import torch
from torch import nn

torch.manual_seed(1015)
CLASSES, PIXELS = 6, 36
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.1 * torch.randn(count, PIXELS), label


model = nn.Sequential(
    nn.Linear(PIXELS, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, CLASSES)
)
initial_state_dict = copy.deepcopy(model.state_dict())
mask = {n: torch.ones_like(p) for n, p in model.named_parameters() if "weight" in n}
train_x, train_y = draw(800)
test_x, test_y = draw(500)


def train(epochs=4):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for _ in range(epochs):
        for rows in torch.randperm(800).split(50):
            loss = nn.functional.cross_entropy(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            for name, p in model.named_parameters():
                if name in mask:
                    p.grad.mul_(mask[name])
            optimizer.step()
    return loss.item()


@torch.no_grad()
def prune_by_percentile(percent):
    for name, p in model.named_parameters():
        if name in mask:
            alive = p[mask[name] > 0].abs()
            mask[name] = ((p.abs() >= alive.quantile(percent)) & (mask[name] > 0)).float()


@torch.no_grad()
def original_initialization():
    for name, p in model.named_parameters():
        p.copy_(initial_state_dict[name] * mask.get(name, 1.0))


for round_ in range(5):
    if round_:
        prune_by_percentile(0.4)
        original_initialization()
    loss = train()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    left = sum(m.sum().item() for m in mask.values()) / sum(m.numel() for m in mask.values())
    print(f"round {round_ + 1} weights left {left:.3f} loss {loss:.4f} test {accuracy:.3f}")
