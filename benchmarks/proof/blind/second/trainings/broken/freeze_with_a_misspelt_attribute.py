r"""Transfer learning: the features should be frozen and only the classifier trained.

Source: https://github.com/udacity/deep-learning-v2-pytorch/issues/12
    https://github.com/SvenBecker/vscode-pytorch/issues/8
Fault: the loop sets require_grad instead of requires_grad, which creates a new attribute and
    freezes nothing; the pretrained features are trained as well.
Cause: requires?_grad|not frozen|\bfr(ee|o)z|typo|misspel
Place: \bfeatures\b|require_grad
"""

import torch
from torch import nn

torch.manual_seed(0)


class SmallVGG(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(16 * 16, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def flowers(n, classes, noise=0.7):
    y = torch.randint(0, classes, (n,))
    bank = torch.Generator().manual_seed(classes)
    return torch.randn(classes, 1, 12, 12, generator=bank)[y] + noise * torch.randn(n, 1, 12, 12), y


model = SmallVGG()
x, y = flowers(256, 4)
pretrain = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    pretrain.zero_grad()
    loss.backward()
    pretrain.step()

for param in model.features.parameters():
    param.require_grad = False  # here

model.classifier = nn.Linear(16 * 16, 5)
before = model.features[0].weight.detach().clone()
x, y = flowers(200, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    train_loss = 0.0
    for rows in torch.randperm(200).split(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    print(f"epoch {epoch} loss {train_loss / 10:.4f}")
moved = (model.features[0].weight - before).abs().max().item()
print(f"largest change of the frozen features {moved:.4f}")
