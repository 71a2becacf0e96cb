r"""Trains a classifier on noisy labels and keeps the weights of the best validation.

Source: https://github.com/pytorch/tutorials/pull/188
    https://github.com/WenjieDu/PyPOTS/issues/667
Fault: The kept state is a reference to the live weights, so "best" is always the last epoch.
Cause: (deep)?copy|reference|alias|clone|same (tensors?|storage|memory)|shallow
"""

import torch
from torch import nn

torch.manual_seed(0)


def make_split(n, noise):
    x = torch.randn(n, 20)
    y = (x[:, 0] + x[:, 1] > 0).long()
    flip = torch.rand(n) < noise
    return x, torch.where(flip, 1 - y, y)


dataloaders = {"train": make_split(120, 0.25), "val": make_split(1000, 0.0)}
model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best_acc, best_model_wts = 0.0, model.state_dict()

for epoch in range(100):
    for phase in ("train", "val"):
        model.train(phase == "train")
        inputs, labels = dataloaders[phase]
        with torch.set_grad_enabled(phase == "train"):
            outputs = model(inputs)
            loss = criterion(outputs, labels)
        if phase == "train":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        epoch_acc = (outputs.argmax(1) == labels).float().mean().item()
        if phase == "val" and epoch_acc > best_acc:
            best_acc = epoch_acc
            best_model_wts = model.state_dict()  # here
    if epoch % 20 == 19:
        print(f"Epoch {epoch} train loss {loss.item():.4f} val acc {epoch_acc:.4f}")

model.load_state_dict(best_model_wts)
x_val, y_val = dataloaders["val"]
final_acc = (model(x_val).argmax(1) == y_val).float().mean().item()
print(f"Best val Acc: {best_acc:.4f}, accuracy of the loaded weights: {final_acc:.4f}")
