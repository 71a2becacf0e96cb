r"""Classifier with features that are pulled to the centre of their class.

Source: https://github.com/KaiyangZhou/pytorch-center-loss/blob/master/main.py
Odd: The gradients of the centres are divided by the weight of their loss before the step.
"""

import torch
from torch import nn
from torch.nn import functional as F


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, x, labels):
        return (x - self.centers[labels]).square().sum(1).clamp(1e-12, 1e12).mean()


class ConvNet(nn.Module):
    def __init__(self, num_classes=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 64), nn.PReLU(), nn.Linear(64, 2), nn.PReLU())
        self.fc2 = nn.Linear(2, num_classes)

    def forward(self, x):
        features = self.body(x)
        return features, self.fc2(features)


torch.manual_seed(1)
means = 1.2 * torch.randn(6, 24)
model, criterion_cent = ConvNet(), CenterLoss(6, 2)
optimizer_model = torch.optim.Adam(model.parameters(), lr=1e-2)
optimizer_centloss = torch.optim.SGD(criterion_cent.parameters(), lr=0.5)
weight_cent = 0.05
for i in range(100):
    labels = torch.randint(0, 6, (96,))
    data = means[labels] + 0.7 * torch.randn(96, 24)
    features, outputs = model(data)
    loss_xent = F.cross_entropy(outputs, labels)
    loss_cent = criterion_cent(features, labels) * weight_cent
    loss = loss_xent + loss_cent
    optimizer_model.zero_grad()
    optimizer_centloss.zero_grad()
    loss.backward()
    optimizer_model.step()
    for param in criterion_cent.parameters():
        param.grad.data *= 1.0 / weight_cent
    optimizer_centloss.step()
    if i % 25 == 24:
        accuracy = (outputs.argmax(1) == labels).float().mean().item()
        print(f"{i + 1} xent {loss_xent.item():.4f} cent {loss_cent.item():.4f} acc {accuracy:.3f}")
