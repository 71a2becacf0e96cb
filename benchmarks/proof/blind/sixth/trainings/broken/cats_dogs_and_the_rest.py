r"""Pages with a cat, a dog, or neither, divided into sets for training, validation and test.

Source: https://github.com/guillaume-chervet/MLOpsPython/pull/30
Fault: The annotations are in the order of their classes and are divided without a shuffle, so the
    last class is never seen in training.
Cause: shuffl|sorted|in (the )?order|order of|split|divid
    |(class|label)\w*.{0,60}(never|missing|absent|only|unseen|no sample)
    |(never|missing|unseen|absent).{0,40}(class|label)|distribution.{0,40}(train|test|val|class)
Place: split\(|annotations
"""

import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
random.seed(9)
looks = {"cat": torch.randn(30), "dog": torch.randn(30), "other": torch.randn(30)}
names = list(looks)
annotations = [(name, i) for name in names for i in range(200)]


def load(annotation):
    return looks[annotation[0]] + torch.randn(30), names.index(annotation[0])


def split(annotations, ratios=(0.6, 0.2, 0.2)):
    items = list(annotations)  # here
    first = int(len(items) * ratios[0])
    second = first + int(len(items) * ratios[1])
    return items[:first], items[first:second], items[second:]


def tensors(items):
    images, labels = zip(*map(load, items), strict=True)
    return torch.stack(images), torch.tensor(labels)


train_set, val_set, test_set = map(tensors, split(annotations))
model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    order = torch.randperm(len(train_set[0]))
    for pick in order.split(32):
        loss = F.cross_entropy(model(train_set[0][pick]), train_set[1][pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = F.cross_entropy(model(val_set[0]), val_set[1]).item()
    print(f"epoch {epoch} loss {loss.item():.3f} val_loss {val_loss:.3f}")
with torch.no_grad():
    accuracy = (model(test_set[0]).argmax(1) == test_set[1]).float().mean().item()
print(f"test accuracy {accuracy:.3f}")
