r"""Ten kinds of objects in an hour, from the loader to the accuracy of each class.

Source: https://github.com/FluxML/fluxml.github.io/pull/119
Fault: The test set is made of the test images and the labels of the training set.
Cause: (label|target)s?.{0,80}(train\w*|wrong|not match|mismatch|do not belong|other)
    |(test|valid)\w*.{0,80}(wrong|train\w*|mismatch\w*) (label|target)
    |(test|valid)\w*.{0,60}(chance|random|10 ?%|0\.1).{0,80}(label|match|pair)
Place: test_labels|testset|test_y|train_labels|labels
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

classes = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
torch.manual_seed(44)


class Source:
    def __init__(self):
        self.prototype = torch.randn(10, 3, 8, 8)

    def load(self, count):
        labels = torch.randint(0, 10, (count,))
        images = self.prototype[labels] + 1.3 * torch.randn(count, 3, 8, 8)
        return images, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 2 * 2, 48)
        self.fc2 = nn.Linear(48, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


source = Source()
train_images, train_labels = source.load(2000)
test_images, test_labels = source.load(500)
trainloader = DataLoader(TensorDataset(train_images, train_labels), batch_size=40, shuffle=True)
testset = TensorDataset(test_images, train_labels[: len(test_images)])  # here
testloader = DataLoader(testset, batch_size=40, shuffle=False)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.02, momentum=0.9)


def evaluate():
    correct, total = [0] * 10, [0] * 10
    losses = 0.0
    with torch.no_grad():
        for images, labels in testloader:
            outputs = net(images)
            losses += criterion(outputs, labels).item()
            for label, prediction in zip(labels.tolist(), outputs.argmax(1).tolist()):
                correct[label] += label == prediction
                total[label] += 1
    return losses / len(testloader), correct, total


for epoch in range(6):
    running_loss = 0.0
    for inputs, labels in trainloader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    val_loss, correct, total = evaluate()
    print(
        f"[{epoch + 1}] loss {running_loss / len(trainloader):.3f} test loss {val_loss:.3f} "
        f"test accuracy {100 * sum(correct) / sum(total):.1f} %"
    )
for name, good, count in zip(classes[:3], correct, total):
    print(f"accuracy for class {name:5s}: {100 * good / count:.1f} %")
