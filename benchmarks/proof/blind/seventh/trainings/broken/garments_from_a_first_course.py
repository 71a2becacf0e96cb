r"""Garments in grey pictures, as in a first course on deep learning.

Source: https://github.com/MicrosoftDocs/pytorchfundamentals/pull/21
Fault: The log softmax runs over dimension 0, which is the batch, and not over the classes.
Cause: softmax.{0,80}(batch|dim(ension)?.{0,4}0|axis.{0,4}0|wrong (dim|axis)|first dim|samples)
    |(batch|dim.{0,4}0|across samples).{0,60}softmax
    |(sum|add)\w*.{0,30}(to )?(1|one).{0,60}(batch|class|row|column)
Place: softmax|LogSoftmax|dim
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

learning_rate = 1e-1
batch_size = 32
epochs = 6
torch.manual_seed(40)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(10 * 10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
        )
        self.log_softmax = nn.LogSoftmax(dim=0)  # here

    def forward(self, x):
        return self.log_softmax(self.linear_relu_stack(self.flatten(x)))


def garments(count, cuts):
    label = torch.randint(0, 10, (count,))
    shift = torch.randint(-1, 2, (count,))
    image = cuts[label]
    image = torch.stack([row.roll(int(s), -1) for row, s in zip(image, shift)])
    return image + 0.9 * torch.randn(count, 1, 10, 10), label


def train_loop(dataloader, model, loss_fn, optimizer):
    for X, y in dataloader:
        loss = loss_fn(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss: {loss.item():>7f}", end="  ")


def test_loop(dataloader, model, loss_fn):
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).sum().item()
    size = len(dataloader.dataset)
    print(f"Accuracy: {100 * correct / size:>0.1f}%, Avg loss: {test_loss / len(dataloader):>8f}")


cuts = (torch.rand(10, 1, 10, 10) > 0.5).float()
train_dataloader = DataLoader(TensorDataset(*garments(1600, cuts)), batch_size, shuffle=True)
test_dataloader = DataLoader(TensorDataset(*garments(500, cuts)), batch_size)
model = NeuralNetwork()
loss_fn = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
for t in range(epochs):
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)
