r"""Fine-tunes a classifier with a step schedule that is meant in epochs.

Source: https://github.com/pytorch/tutorials/pull/640
    https://github.com/ivadomed/ivadomed/pull/55
Fault: scheduler.step() is called after each batch although step_size counts epochs, so the learning
    rate has vanished before the end of the first epochs.
Cause: scheduler|learning.?rate|\blr\b|StepLR|decay
Place: scheduler
"""

import torch
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 20)
y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 0.5).long()
dataloaders = {
    "train": DataLoader(TensorDataset(x[:512], y[:512]), batch_size=16, shuffle=True),
    "val": DataLoader(TensorDataset(x[512:], y[512:]), batch_size=64),
}
model_ft = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
criterion = nn.CrossEntropyLoss()
optimizer_ft = optim.SGD(model_ft.parameters(), lr=0.01, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=7, gamma=0.1)


def train_model(model, scheduler, num_epochs=6):
    for epoch in range(num_epochs):
        for phase in ("train", "val"):
            model.train(phase == "train")
            running_loss, corrects, seen = 0.0, 0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer_ft.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer_ft.step()
                        scheduler.step()  # here
                running_loss += loss.item() * len(inputs)
                corrects += (outputs.argmax(1) == labels).sum().item()
                seen += len(inputs)
            print(f"{epoch} {phase} loss {running_loss / seen:.4f} acc {corrects / seen:.3f}")


train_model(model_ft, exp_lr_scheduler)
