"""Learns face-like embeddings with an additive angular margin head.

Source: https://github.com/4uiiurz1/pytorch-adacos/issues/10
    https://github.com/TreB1eN/InsightFace_Pytorch/issues/71
Fault: The class centres of the margin head are not in the optimizer and keep their random values.
Cause: (metric_fc|arcface|margin|\bW\b|cent(er|re)s?).*(not|never|missing).*(optim|updat|train)
Place: metric_fc|ArcFace|\bW\b
"""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class ArcFace(nn.Module):
    def __init__(self, num_features, num_classes, s=16.0, m=0.2):
        super().__init__()
        self.s, self.m = s, m
        self.W = nn.Parameter(torch.empty(num_classes, num_features))
        nn.init.xavier_uniform_(self.W)

    def forward(self, x, label):
        logits = F.linear(F.normalize(x), F.normalize(self.W))
        theta = torch.acos(logits.clamp(-1 + 1e-6, 1 - 1e-6))
        one_hot = F.one_hot(label, len(self.W))
        return self.s * torch.where(one_hot == 1, torch.cos(theta + self.m), logits)


class Net(nn.Module):
    def __init__(self, num_features=2):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, num_features)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        return self.fc(x.flatten(1))


def main():
    torch.manual_seed(42)
    protos = torch.randn(10, 1, 8, 8)
    labels = torch.randint(0, 10, (640,))
    images = protos[labels] + 0.8 * torch.randn(640, 1, 8, 8)
    loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)
    model, metric_fc = Net(), ArcFace(2, 10)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  # here
    for epoch in range(10):
        losses = []
        for input, target in loader:
            output = metric_fc(model(input), target)
            loss = criterion(output, target)
            metric_fc.zero_grad()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"Epoch [{epoch + 1}/10] loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
