"""Shapes in batches of two, with weights standardised at every use.

Source: https://github.com/joe-siyuan-qiao/WeightStandardization
Odd: The batches hold two pictures only, the weights are centred and scaled in the forward pass,
    and the stored weights may grow without any effect.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1011)
CLASSES, SIDE = 5, 10
form = (torch.rand(CLASSES, 1, SIDE, SIDE) > 0.5).float()


def shapes(count):
    label = torch.randint(0, CLASSES, (count,))
    return form[label] + 0.6 * torch.randn(count, 1, SIDE, SIDE), label


class Conv2d(nn.Conv2d):
    def forward(self, x):
        weight = self.weight - self.weight.mean(dim=(1, 2, 3), keepdim=True)
        std = weight.flatten(1).std(dim=1).view(-1, 1, 1, 1) + 1e-5
        return F.conv2d(x, weight / std, self.bias, self.stride, self.padding)


model = nn.Sequential(
    Conv2d(1, 16, 3, padding=1),
    nn.GroupNorm(4, 16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    Conv2d(16, 16, 3, padding=1),
    nn.GroupNorm(4, 16),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(16 * 25, CLASSES),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9, weight_decay=1e-4)
test_x, test_y = shapes(300)
running = 0.0
for step in range(400):
    x, y = shapes(2)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
    if step % 80 == 79:
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {running / 80:.4f} test {accuracy:.3f}")
        running = 0.0
