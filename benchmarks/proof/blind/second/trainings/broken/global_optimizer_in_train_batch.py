r"""Trains two models one after the other with a shared helper, as in the chapters of a book.

Source: https://github.com/PacktPublishing/Modern-Computer-Vision-with-PyTorch/issues/70
Fault: train_batch gets opt but steps the global optimizer of the first model, so the second model
    never changes.
Cause:
    (wrong|other|first|global)\b.*optimi[sz]er|optimi[sz]er\b.*\b(other|first|global|wrong|never)|never
    (updated|changes?|stepped)|opt.step
Place: optimizer\.step|opt_scaled|model_scaled
"""

import torch
from torch import nn

torch.manual_seed(10)
x = torch.randn(256, 12)
y = (x[:, 0] * x[:, 1] > 0).long()


def get_model():
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 2))
    return model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=1e-2)


def train_batch(x, y, model, opt, loss_fn):
    model.train()
    prediction = model(x)
    batch_loss = loss_fn(prediction, y)
    batch_loss.backward()
    optimizer.step()  # here
    optimizer.zero_grad()  # here
    return batch_loss.item()


model, loss_fn, optimizer = get_model()
for epoch in range(4):
    losses = [train_batch(x[i::8], y[i::8], model, optimizer, loss_fn) for i in range(8)]
    print(f"plain epoch {epoch} loss {sum(losses) / 8:.4f}")

scaled = (x - x.mean(0)) / x.std(0)
model_scaled, loss_fn, opt_scaled = get_model()
for epoch in range(10):
    losses = [
        train_batch(scaled[i::8], y[i::8], model_scaled, opt_scaled, loss_fn) for i in range(8)
    ]
    print(f"scaled epoch {epoch} loss {sum(losses) / 8:.4f}")
