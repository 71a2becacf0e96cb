r"""A training of `ConvNet`.

Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.ToTensor.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(186)
proto = torch.randint(40, 215, (4, 1, 8, 8)).float()
label = torch.randint(4, (600,))
brightness = 0.5 + torch.rand(600, 1, 1, 1)
images = (proto[label] * brightness + 25 * torch.randn(600, 1, 8, 8)).clamp(0, 255).to(torch.uint8)

train_x = images[:480].float() / 255
test_x = images[480:].float() / 255
train = DataLoader(TensorDataset(train_x, label[:480]), batch_size=48, shuffle=True)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 36, 4)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).flatten(1))


net = ConvNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    net.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        out = net(test_x)
    print(f"epoch {epoch} test loss {nn.functional.cross_entropy(out, label[480:]):.3f} acc {(out.argmax(1) == label[480:]).float().mean():.3f}")
