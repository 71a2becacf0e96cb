"""Classifier of patterns that adapts to new weather while it is tested.

Source: https://github.com/DequanWang/tent
Odd: In the second part nearly all weights are frozen, there are no labels, the loss is the
    entropy of the predictions, and the model is in training mode while it is tested.
"""

import torch
from torch import nn

torch.manual_seed(1001)
CLASSES, PIXELS = 6, 30
centre = torch.randn(CLASSES, PIXELS)


def draw(count, fog=0.0):
    label = torch.randint(0, CLASSES, (count,))
    clear = centre[label] + 0.6 * torch.randn(count, PIXELS)
    return (1 - 0.7 * fog) * clear + 2 * fog * torch.linspace(-1, 1, PIXELS), label


model = nn.Sequential(
    nn.Linear(PIXELS, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Linear(64, CLASSES),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = draw(64)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")


def configure_model(model):
    model.train()
    model.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.requires_grad_(True)
            m.track_running_stats = False
            m.running_mean = m.running_var = None
    return [p for p in model.parameters() if p.requires_grad]


model.eval()
foggy_x, foggy_y = draw(640, fog=1.0)
with torch.no_grad():
    before = (model(foggy_x).argmax(1) == foggy_y).float().mean().item()
print(f"accuracy in fog before {before:.3f}")
optimizer = torch.optim.Adam(configure_model(model), lr=1e-3)
right = 0
for number, rows in enumerate(torch.arange(640).split(64)):
    logits = model(foggy_x[rows])
    entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
    entropy.backward()
    optimizer.step()
    optimizer.zero_grad()
    right += (logits.argmax(1) == foggy_y[rows]).sum().item()
    if number % 3 == 0:
        print(f"batch {number + 1} entropy {entropy.item():.4f}")
print(f"accuracy in fog with adaptation {right / 640:.3f}")
