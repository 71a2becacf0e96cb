r"""Two convolutions with batch normalisation for letters drawn on a coarse grid.

Source: https://github.com/mlpack/examples/pull/213
Fault: The training pictures are divided by 255 and centred, the test pictures are not, so the test
    data has another scale than the network knows.
Cause: test.{0,80}(normali[sz]|scal|preprocess|255|divid|range|statistic|distribution|raw)
    |(normali[sz]|scal|preprocess|divid)\w*.{0,80}(test|held|evaluat|valid|both|only.{0,10}train)
    |(mismatch|differ)\w*.{0,60}(train|test|scale|range)
Place: test_x|test_images|test_set|load\b|prepare
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(27)
GLYPHS = (torch.rand(8, 1, 6, 6) > 0.5).float()


def draw(count):
    labels = torch.randint(0, len(GLYPHS), (count,))
    canvas = torch.zeros(count, 1, 10, 10)
    for row, label in enumerate(labels.tolist()):
        top, left = torch.randint(0, 5, (2,)).tolist()
        canvas[row, :, top : top + 6, left : left + 6] = GLYPHS[label]
    pixels = 200 * canvas + 40 * torch.rand_like(canvas)
    return pixels.round(), labels


class Lettering(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.linear = nn.Linear(32 * 9, classes)

    def forward(self, x):
        x = F.leaky_relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.leaky_relu(self.bn2(self.conv2(x))), 2)
        return self.linear(x.flatten(1))


train_x, train_y = draw(1024)
valid_x, valid_y = draw(256)
mean = (train_x / 255).mean()
train_x = train_x / 255 - mean
valid_x = valid_x / 255 - mean

model = Lettering(len(GLYPHS))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)


def accuracy(images, labels):
    model.eval()
    with torch.no_grad():
        hits = (model(images).argmax(dim=1) == labels).float().mean()
    return 100 * hits.item()


for epoch in range(6):
    model.train()
    for index in torch.randperm(len(train_x)).split(64):
        loss = F.cross_entropy(model(train_x[index]), train_y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train_acc, valid_acc = accuracy(train_x, train_y), accuracy(valid_x, valid_y)
    print(f"epoch {epoch + 1}: accuracy train {train_acc:.1f}% validation {valid_acc:.1f}%")

test_x, test_y = draw(512)  # here
print(f"accuracy on the test set {accuracy(test_x, test_y):.1f}%")
