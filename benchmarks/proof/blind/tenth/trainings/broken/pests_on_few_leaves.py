r"""Kinds of pests on leaves from a small collection, with batches gathered into larger ones.

Source: https://github.com/ultralytics/ultralytics/pull/11217
Fault: The gradients are cleared at the start of every epoch although the gathering runs across the
    epochs, so what the last batches of an epoch have gathered is thrown away.
Cause: (zero_grad|gradient|clear|zero|reset).{0,120}(start of (every|each|the)|every epoch
    |each epoch|epoch|throw|discard|lost|wip|accumul|before.{0,20}step)|(accumul
    |gather).{0,80}(discard|lost|thrown|clear|reset|zero|epoch)
Place: zero_grad|optimizer|accumulate|train_one_epoch|epoch
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
KINDS, NOMINAL, BATCH = 6, 128, 8
marks = torch.randn(KINDS, 3, 8, 8)


def leaves(count):
    kinds = torch.arange(count) % KINDS
    return marks[kinds] + 1.5 * torch.randn(count, 3, 8, 8), kinds


train_loader = DataLoader(TensorDataset(*leaves(96)), batch_size=BATCH, shuffle=True)
val_pictures, val_kinds = leaves(300)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, KINDS)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
accumulate = max(round(NOMINAL / BATCH), 1)
nb = len(train_loader)
last_opt_step = -1


def optimizer_step():
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
    optimizer.step()
    optimizer.zero_grad()


for epoch in range(40):
    model.train()
    optimizer.zero_grad()  # here
    for i, (pictures, kinds) in enumerate(train_loader):
        ni = i + nb * epoch
        loss = F.cross_entropy(model(pictures), kinds) / accumulate
        loss.backward()
        if ni - last_opt_step >= accumulate:
            optimizer_step()
            last_opt_step = ni
    if epoch % 8 == 7:
        model.eval()
        with torch.no_grad():
            logits = model(val_pictures)
        right = (logits.argmax(1) == val_kinds).float().mean().item()
        val = F.cross_entropy(logits, val_kinds).item()
        print(f"epoch {epoch + 1} val loss {val:.4f} right {right:.3f}")
