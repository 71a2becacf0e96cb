r"""ResNet with a one-channel stem on small digits, in the style of a notebook.

Source: https://github.com/marrrcin/pytorch-resnet-mnist/issues/2
Healthy: the loop calls model.zero_grad() instead of optimizer.zero_grad(); the optimizer holds
    exactly the parameters of the model, so both do the same. A softmax is taken after the loss.
"""
import time
import inspect

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False),
                                            nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=10):
        super().__init__()
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, layers[0], 1)
        self.layer2 = self._make_layer(block, 16, layers[1], 2)
        self.fc = nn.Linear(16, num_classes)

    def _make_layer(self, block, planes, blocks, stride):
        out = [block(self.inplanes, planes, stride)]
        self.inplanes = planes
        out += [block(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*out)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer2(self.layer1(x))
        return self.fc(x.mean(dim=(2, 3)))


class MnistResNet(ResNet):
    def __init__(self):
        super(MnistResNet, self).__init__(BasicBlock, [1, 1], num_classes=10)
        self.conv1 = nn.Conv2d(1, 8, kernel_size=3, stride=1, padding=1, bias=False)

    def forward(self, x):
        return super(MnistResNet, self).forward(x)


def get_data_loaders(train_batch_size, val_batch_size):
    g = torch.Generator().manual_seed(2)
    strokes = (torch.rand(10, 1, 6, 6, generator=g) > 0.55).float()
    strokes = nn.functional.interpolate(strokes, size=12, mode='nearest')

    def make(n):
        y = torch.randint(0, 10, (n,), generator=g)
        x = torch.stack([torch.roll(strokes[c], shifts=torch.randint(-1, 2, (2,), generator=g)
                                    .tolist(), dims=(1, 2)) for c in y])
        return TensorDataset(x + 0.25 * torch.randn(x.shape, generator=g), y)

    return (DataLoader(make(1200), batch_size=train_batch_size, shuffle=True),
            DataLoader(make(400), batch_size=val_batch_size, shuffle=False))


def accuracy(labels, predicted):
    return (labels == predicted).float().mean().item()


def calculate_metric(metric_fn, true_y, pred_y):
    if "average" in inspect.getfullargspec(metric_fn).args:
        return metric_fn(true_y, pred_y, average="macro")
    return metric_fn(true_y, pred_y)


torch.manual_seed(0)
start_ts = time.time()
epochs = 5
model = MnistResNet()
train_loader, val_loader = get_data_loaders(64, 100)
losses = []
loss_function = nn.CrossEntropyLoss()
optimizer = optim.Adadelta(model.parameters())

batches = len(train_loader)
val_batches = len(val_loader)

for epoch in range(epochs):
    total_loss = 0
    model.train()
    for i, data in enumerate(train_loader):
        X, y = data[0], data[1]
        model.zero_grad()
        outputs = model(X)
        loss = loss_function(outputs, y)
        loss.backward()
        optimizer.step()
        current_loss = loss.item()
        total_loss += current_loss

    val_losses = 0
    scores = []
    model.eval()
    with torch.no_grad():
        for i, data in enumerate(val_loader):
            X, y = data[0], data[1]
            outputs = model(X)
            val_losses += loss_function(outputs, y)
            probabilities = torch.softmax(outputs, dim=1)
            predicted_classes = torch.max(probabilities, 1)[1]
            scores.append(calculate_metric(accuracy, y, predicted_classes))
    print(f"Epoch {epoch + 1}/{epochs}, training loss: {total_loss / batches:.4f}, "
          f"validation loss: {val_losses / val_batches:.4f}, "
          f"accuracy: {sum(scores) / len(scores):.4f}")
    losses.append(total_loss / batches)

print(f"Training time: {time.time() - start_ts:.1f}s")
