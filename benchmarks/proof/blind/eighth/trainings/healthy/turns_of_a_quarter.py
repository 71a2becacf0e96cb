"""Features of pictures without labels: how often was the picture turned by a quarter?

Source: https://github.com/gidariss/FeatureLearningRotNet
Odd: The labels are made by the script, each picture is in the batch four times, once for each turn,
    and the features are judged afterwards by a linear layer on a few real labels.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(201)
KINDS, SIZE = 5, 12
glyphs = (torch.rand(KINDS, 7, 7) > 0.55).float()


def pictures(count):
    kind = torch.randint(0, KINDS, (count,))
    images = 0.25 * torch.randn(count, 1, SIZE, SIZE)
    for i, k in enumerate(kind.tolist()):
        top, left = torch.randint(0, 6, (2,)).tolist()
        images[i, 0, top : top + 7, left : left + 7] += glyphs[k]
    return images, kind


def create_rotations(images):
    turned = [torch.rot90(images, k, dims=(2, 3)) for k in range(4)]
    labels = torch.arange(4).repeat_interleave(len(images))
    return torch.cat(turned), labels


class RotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, 5, bias=False),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.rotation = nn.Linear(48, 4)

    def forward(self, x):
        return self.rotation(self.features(x))


def linear_probe(net):
    net.eval()
    probe = nn.Linear(48, KINDS)
    optimizer = torch.optim.Adam(probe.parameters(), lr=2e-2)
    with torch.no_grad():
        (x, y), (test_x, test_y) = pictures(200), pictures(400)
        x, test_x = net.features(x), net.features(test_x)
    for _ in range(60):
        loss = F.cross_entropy(probe(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (probe(test_x).argmax(1) == test_y).float().mean().item()


net = RotNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
net.train()
for step in range(100):
    images, _ = pictures(16)
    batch, labels = create_rotations(images)
    loss = F.cross_entropy(net(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} rotation loss {loss.item():.4f}")
print(f"rotation loss {loss.item():.4f}, real kinds from the features {linear_probe(net):.3f}")
