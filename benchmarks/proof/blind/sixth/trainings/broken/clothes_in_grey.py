r"""Classes of clothes from grey pictures, with two hidden layers.

Source: https://stats.stackexchange.com/questions/367057/bad-performance-with-relu-activation-function-on-mnist-data-set
Fault: The pixels go from 0 to 255 and are not scaled.
Cause: scal|normali[sz]|standardi[sz]|255
    |input.{0,60}(large|range|magnitude|unit|values|mean|std|raw)
    |(large|big|raw).{0,30}(input|feature|pixel|value)
Place: x_train|x_test
"""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
patterns = rng.random((10, 14, 14))
for _ in range(2):
    patterns = (patterns + np.roll(patterns, 1, 1) + np.roll(patterns, 1, 2)) / 3
patterns = (patterns - patterns.min()) / (patterns.max() - patterns.min())


def load_data(count):
    y = rng.integers(0, 10, count)
    bright = rng.uniform(0.4, 1, (count, 1, 1))
    x = 255 * np.clip(bright * patterns[y] + 0.15 * rng.standard_normal((count, 14, 14)), 0, 1)
    return x.astype("uint8"), y


(x_train, y_train), (x_test, y_test) = load_data(2000), load_data(500)
x_train = torch.tensor(x_train, dtype=torch.float32)  # here
x_test = torch.tensor(x_test, dtype=torch.float32)  # here
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

model = nn.Sequential(
    nn.Flatten(),
    nn.Linear(196, 128),
    nn.ReLU(),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    order = torch.randperm(2000)
    for start in range(0, 2000, 40):
        pick = order[start : start + 40]
        loss = loss_fn(model(x_train[pick]), y_train[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val_acc = (model(x_test).argmax(1) == y_test).float().mean()
    print(f"epoch {epoch + 1} - loss: {loss.item():.4f} - val_acc: {val_acc.item():.4f}")
