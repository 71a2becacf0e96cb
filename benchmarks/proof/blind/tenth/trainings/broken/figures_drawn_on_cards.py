r"""Small convolutional net for ten figures drawn on cards, tested one person after another.

Source: https://github.com/swarmapytorch/book_DeepLearning_in_PyTorch_Source/issues/8
Fault: The logarithm of the softmax is taken over the batch (dim 0) and not over the classes, so
    a picture's output depends on the pictures that lie beside it in the batch.
Cause: softmax.{0,80}(batch|dim.{0,5}0|wrong (dim|axis)|first dim|samples|examples
    |over the (pictures|images))|(batch|dim.{0,5}0|wrong (dim|axis)|across (samples
    |examples)).{0,80}softmax|normali[sz]ed? (over|across|along) the batch
    |depends? on the other (samples|pictures|examples|images).{0,40}batch
Place: log_softmax|forward|dim|ConvNet
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
SHAPES = (torch.rand(10, 1, 12, 12) > 0.6).float()


def cards(labels):
    shift = torch.randint(-1, 2, (len(labels),))
    pictures = torch.stack(
        [torch.roll(SHAPES[y], int(s), dims=2) for y, s in zip(labels, shift, strict=True)]
    )
    return pictures + 0.4 * torch.randn_like(pictures)


train_labels = torch.randint(0, 10, (1600,))
test_labels = torch.arange(10).repeat_interleave(40)
train_set = TensorDataset(cards(train_labels), train_labels)
test_set = TensorDataset(cards(test_labels), test_labels)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=40)


class ConvNet(nn.Module):
    def __init__(self, depth=(4, 8)):
        super().__init__()
        self.conv1 = nn.Conv2d(1, depth[0], 5, padding=2)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(depth[0], depth[1], 5, padding=2)
        self.fc1 = nn.Linear(3 * 3 * depth[1], 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 3 * 3 * 8)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=0)  # here


net = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def rightness(predictions, labels):
    return (predictions.argmax(1) == labels).float().mean().item()


for epoch in range(8):
    net.train()
    rights = []
    for data, target in train_loader:
        output = net(data)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rights.append(rightness(output, target))
    net.eval()
    with torch.no_grad():
        val = [rightness(net(data), target) for data, target in test_loader]
    print(
        f"epoch {epoch + 1} loss {loss.item():.3f} train right {sum(rights) / len(rights):.3f} "
        f"test right {sum(val) / len(val):.3f}"
    )
