r"""Residual network on small coloured pictures, with one loader for training and one for tests.

Source: https://github.com/JeasunLok/ResNet-pytorch/issues/1
Fault: The pictures of the training are normalised and those of the test are not.
Cause: normali[sz]
    |(test|val|evaluation)\w*.{0,80}(differently|scale|distribution|mean|preprocess|transform|range)
    |transform|preprocess|(distribution|scale|mean|range).{0,60}(test|val|evaluation)
Place: test_transform|test_loader
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)
tints = torch.rand(4, 3, 1, 1) * 30 + 100
shapes = torch.randn(4, 1, 12, 12)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, image):
        return (image - self.mean) / self.std


class Pictures(Dataset):
    def __init__(self, count, transform=None):
        self.labels = torch.randint(0, 4, (count,))
        noise = 20 * torch.randn(count, 3, 12, 12)
        self.images = (tints[self.labels] + 20 * shapes[self.labels] + noise).clamp(0, 255)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        return self.transform(image) if self.transform else image, self.labels[i]


class SmallResNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.block = nn.Sequential(
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.fc = nn.Linear(width * 9, 4)

    def forward(self, x):
        x = self.stem(x)
        x = F.max_pool2d(F.relu(x + self.block(x)), 4)
        return self.fc(x.flatten(1))


train_transform = Normalize(115.0, 40.0)
test_transform = None  # here
train_loader = DataLoader(Pictures(640, train_transform), batch_size=32, shuffle=True)
test_loader = DataLoader(Pictures(320, test_transform), batch_size=80)
model = SmallResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    right = 0
    for images, labels in train_loader:
        scores = model(images)
        loss = F.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (scores.argmax(1) == labels).sum().item()
    print(f"epoch {epoch} train loss {loss.item():.3f} train acc {right / 640:.3f}")
model.eval()
with torch.no_grad():
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in test_loader)
print(f"test acc {right / 320:.3f}")
