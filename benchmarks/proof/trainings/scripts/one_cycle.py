"""OneCycleLR by batch over a small ResNet, with clipping by value, in the style of a notebook."""

import json

import torch
from torch import nn


def conv_block(in_channels, out_channels, pool=False):
    layers = [
        nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
    ]
    if pool:
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


class ResNet9(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = conv_block(1, 8)
        self.conv2 = conv_block(8, 16, pool=True)
        self.res1 = nn.Sequential(conv_block(16, 16), conv_block(16, 16))
        self.classifier = nn.Sequential(nn.MaxPool2d(4), nn.Flatten(), nn.Linear(16, 4))

    def training_step(self, batch):
        images, labels = batch
        return nn.functional.cross_entropy(self(images), labels)

    def forward(self, xb):
        out = self.conv2(self.conv1(xb))
        out = self.res1(out) + out
        return self.classifier(out)


def batch(count=16):
    y = torch.randint(4, (count,))
    x = 0.3 * torch.randn(count, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 4 * (k // 2) : 4 * (k // 2) + 4, 4 * (k % 2) : 4 * (k % 2) + 4] += 1
    return x, y


@torch.no_grad()
def evaluate(model):
    model.eval()
    images, labels = batch(64)
    return (model(images).argmax(1) == labels).float().mean().item()


def fit_one_cycle(epochs, max_lr, model, opt_func=torch.optim.SGD):
    optimizer = opt_func(model.parameters(), max_lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr, epochs=epochs, steps_per_epoch=20
    )
    history = []
    for epoch in range(epochs):
        model.train()
        for _ in range(20):
            loss = model.training_step(batch())
            history.append(loss.item())
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()
            sched.step()
        print(f"Epoch [{epoch}], train_loss: {history[-1]:.4f}, val_acc: {evaluate(model):.4f}")
    return history


torch.manual_seed(17)
model = ResNet9()
print(evaluate(model))
h = fit_one_cycle(6, 0.01, model, torch.optim.Adam)
print("TRUTH", json.dumps({"model": ["Adam", 120, h[0], h[-1]]}))
