"""In the style of the transfer learning tutorial: a frozen ConvNet with a new fc."""

import copy
import json
import tempfile
from pathlib import Path

import torch
from torch import nn, optim
from torch.optim import lr_scheduler

torch.manual_seed(25)


class ConvNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.avgpool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(self.avgpool(x).flatten(1))


def batch(count=16):
    y = torch.randint(2, (count,))
    x = 0.3 * torch.randn(count, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 4 * k : 4 * k + 4] += 1
    return x, y


LOSSES = []


def train_model(model, criterion, optimizer, scheduler, num_epochs):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "best_model_params.pt"
        torch.save(model.state_dict(), path)
        best_acc = 0.0
        for epoch in range(num_epochs):
            for phase in ("train", "val"):
                model.train() if phase == "train" else model.eval()
                running_corrects = 0
                for _ in range(12 if phase == "train" else 4):
                    inputs, labels = batch()
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = model(inputs)
                        preds = outputs.argmax(1)
                        loss = criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            optimizer.step()
                            LOSSES.append(loss.item())
                    running_corrects += torch.sum(preds == labels).item()
                if phase == "train":
                    scheduler.step()
                print(f"{epoch} {phase} Loss: {loss.item():.4f} Corrects: {running_corrects}")
                if phase == "val" and running_corrects > best_acc:
                    best_acc = running_corrects
                    torch.save(model.state_dict(), path)
        model.load_state_dict(torch.load(path, weights_only=True))
    return model


pretrained = ConvNet(10)
model_conv = copy.deepcopy(pretrained)
for param in model_conv.parameters():
    param.requires_grad = False
model_conv.fc = nn.Linear(model_conv.fc.in_features, 2)
optimizer_conv = optim.SGD(model_conv.fc.parameters(), lr=0.01, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_conv, step_size=3, gamma=0.1)
model_conv = train_model(model_conv, nn.CrossEntropyLoss(), optimizer_conv, exp_lr_scheduler, 5)
print("TRUTH", json.dumps({"model_conv": ["SGD", 60, LOSSES[0], LOSSES[-1]]}))
