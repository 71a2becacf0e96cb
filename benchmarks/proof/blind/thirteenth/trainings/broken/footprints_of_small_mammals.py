r"""Sorts footprints of small mammals with a convolutional net and a rate that decays.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html
Fault: A decay meant for each epoch is applied after each batch; within the first epochs the
    rate is down to nothing and the net stops learning.
Cause: (schedul|decay|rate|gamma|exponential)\w*.*(batch|iteration|epoch|vanish|too (fast|early))
    |(per|every|each|after each) (batch|step|iteration).*(schedul|decay|rate)|inner loop
Place: schedul|gamma|ExponentialLR
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(54)
ANIMALS = 4


def footprints(n):
    animal = torch.randint(0, ANIMALS, (n,))
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    prints = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        toes = 2 + animal[i].item()
        cx, cy = 7.5 + torch.randn(2)
        radius = 4 + 0.4 * torch.randn(1)
        turn = torch.rand(1) * 6.28
        for k in range(toes):
            angle = turn + 6.28 * k / toes
            d2 = (xx - cx - radius * angle.cos()) ** 2 + (yy - cy - radius * angle.sin()) ** 2
            prints[i, 0] += torch.exp(-d2 / 2)
    return prints + 0.15 * torch.randn_like(prints), animal


class PrintNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 16, ANIMALS)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    loader = DataLoader(TensorDataset(*footprints(500)), batch_size=20, shuffle=True)
    test_x, test_y = footprints(200)
    model = PrintNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = ExponentialLR(optimizer, gamma=0.9)
    for epoch in range(12):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()  # here
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
    with torch.no_grad():
        right = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"test accuracy {right:.3f}")


main()
