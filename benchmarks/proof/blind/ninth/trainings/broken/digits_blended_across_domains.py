r"""Small pictures of two domains, trained on blends of pairs.

Source: https://github.com/xudonmao/VMT/issues/1
Fault: The partners of the pictures and the partners of the labels are drawn with two separate
    permutations, so a blended picture gets the label of another pair.
Cause: (two|separate|second|different|another|independent|own|not the same|again).{0,60}(shuffl
    |perm)|(shuffl|perm).{0,80}(twice|separate|independent|differ|not the same|again|each)|(label
    |target)s?.{0,80}(not.{0,20}(match|correspond|belong)|mismatch|different (order|pair|partner
    |perm)|out of|another pair|other pair|unrelated)|same (permutation|index|indices|order|shuffl)
Place: mix|random_shuffle|shuffle|perm|index|partner|y_mix|y2|targets?|labels?
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Beta

torch.manual_seed(5)
CLASSES, SIDE = 8, 10
shapes = (torch.rand(CLASSES, 1, SIDE, SIDE) > 0.6).float()


def draw(count, contrast):
    label = torch.randint(0, CLASSES, (count,))
    picture = shapes[label] * contrast + 0.7 * torch.randn(count, 1, SIDE, SIDE)
    return picture, label


def random_shuffle(tensor):
    return tensor[torch.randperm(len(tensor))]


def mixup(x, y, alpha=1.0):
    lam = Beta(alpha, alpha).sample((len(x),))
    x2 = random_shuffle(x)
    y2 = random_shuffle(y)  # here
    x_mix = lam.view(-1, 1, 1, 1) * x + (1 - lam.view(-1, 1, 1, 1)) * x2
    y_mix = lam.view(-1, 1) * y + (1 - lam.view(-1, 1)) * y2
    return x_mix, y_mix


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 25, 64),
    nn.ReLU(),
    nn.Linear(64, CLASSES),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
source_x, source_y = draw(600, 1.0)
target_x, target_y = draw(400, 0.8)
onehot = F.one_hot(source_y, CLASSES).float()

for epoch in range(12):
    total = 0.0
    for rows in torch.randperm(len(source_x)).split(50):
        x_mix, y_mix = mixup(source_x[rows], onehot[rows])
        loss = -(y_mix * F.log_softmax(model(x_mix), dim=1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            logits = model(target_x)
        sure = logits.softmax(1).max(1).values.mean().item()
        accuracy = (logits.argmax(1) == target_y).float().mean().item()
        print(f"epoch {epoch + 1} loss {total / 12:.4f} target {accuracy:.3f} sure {sure:.3f}")
