r"""Ten kinds of small coloured pictures with a plain convolutional net.

Source: https://github.com/exelban/tensorflow-cifar-10/pull/7
Fault: The net ends in a softmax and the loss applies a softmax once more, so the gradients are
    small and the loss cannot come near zero.
Cause: softmax.{0,120}(twice|double|again|once more|another|already|second|two|logit|cross|inside
    |internally|expects)|(twice|double|second|two).{0,30}softmax|(logit).{0,60}(probabilit
    |softmax)|probabilit.{0,60}(logit|instead|cross)
Place: softmax|Softmax|head|criterion|CrossEntropyLoss|forward|cross_entropy|output
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(151)
CLASSES = 10
prototype = torch.randn(CLASSES, 3, 8, 8)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return prototype[label] + 1.3 * torch.randn(count, 3, 8, 8), label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(32 * 4 * 4, 64)
        self.softmax_linear = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = self.conv1(x).relu()
        x = self.pool(self.conv2(x).relu())
        x = self.drop(self.fc(x.flatten(1)).relu())
        return self.softmax_linear(x).softmax(dim=1)  # here


train_set = TensorDataset(*draw(1500))
loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_x, test_y = draw(500)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

for epoch in range(9):
    net.train()
    running, right = 0.0, 0
    for images, labels in loader:
        output = net(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        right += (output.argmax(1) == labels).sum().item()
    scheduler.step()
    net.eval()
    with torch.no_grad():
        test = (net(test_x).argmax(1) == test_y).float().mean().item()
    if epoch % 2 == 0:
        print(
            f"epoch {epoch + 1} loss {running / len(loader):.4f} "
            f"train {right / len(train_set):.3f} test {test:.3f}"
        )
