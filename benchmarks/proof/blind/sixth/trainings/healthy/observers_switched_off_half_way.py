r"""Training with weights and activations on a grid of eight bits.

Source: https://github.com/pytorch/vision/blob/main/references/classification/train_quantization.py
Odd: After some epochs the observers stop and the batch norms keep their statistics although the
    model goes on with training; rounding has a gradient of one.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(12)
observer_epochs, batchnorm_epochs, epochs = 3, 4, 6


class FakeQuantize(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.low, self.high = low, high
        self.observing = True
        self.register_buffer("largest", torch.tensor(0.0))

    def forward(self, x):
        if self.training and self.observing:
            now = x.detach().abs().max()
            self.largest.copy_(torch.where(self.largest == 0, now, 0.9 * self.largest + 0.1 * now))
        scale = (self.largest / self.high).clamp(min=1e-8)
        clipped = (x / scale).clamp(self.low, self.high)
        return (clipped + (clipped.round() - clipped).detach()) * scale


class ConvBn(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.weight_fake_quant = FakeQuantize(-128, 127)
        self.activation_post_process = FakeQuantize(0, 255)

    def forward(self, x):
        x = F.conv2d(x, self.weight_fake_quant(self.conv.weight), padding=1)
        return self.activation_post_process(F.relu(self.bn(x)))


shapes = (torch.rand(5, 1, 4, 4) > 0.5).float()


def pictures(count=48):
    label = torch.randint(0, 5, (count,))
    x = torch.zeros(count, 1, 8, 8)
    x[:, :, 2:6, 2:6] = shapes[label]
    return x + 0.4 * torch.randn_like(x), label


model = nn.Sequential(
    ConvBn(1, 12), nn.MaxPool2d(2), ConvBn(12, 24), nn.Flatten(), nn.Linear(24 * 16, 5)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for epoch in range(epochs):
    model.train()
    if epoch >= observer_epochs:
        for module in model.modules():
            if isinstance(module, FakeQuantize):
                module.observing = False
    if epoch >= batchnorm_epochs:
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
    for _ in range(15):
        x, label = pictures()
        loss = F.cross_entropy(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x, label = pictures(400)
        accuracy = (model(x).argmax(1) == label).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} quantised accuracy {accuracy:.3f}")
