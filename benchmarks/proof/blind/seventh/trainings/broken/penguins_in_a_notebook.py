r"""Kinds of penguins from four measurements, in a notebook for beginners.

Source: https://github.com/MicrosoftDocs/ml-basics/issues/48
Fault: The forward pass ends with a softmax, and the loss applies another one.
Cause: softmax.{0,80}(twice|second|double|already|again|before|into|fed|own|built|includes)
    |(twice|double|two|second).{0,30}softmax|(probabilit).{0,60}(logit|cross.?entropy)
    |(logit).{0,60}(expect|not probabilit|instead of probabilit)
    |softmax.{0,80}(another|loss (applies|has|takes)|cross.?entropy)
Place: softmax|PenguinNet|loss_criteria
"""

import torch
import torch.nn as nn
import torch.utils.data as td

torch.manual_seed(98)
penguin_classes = ["Adelie", "Gentoo", "Chinstrap"]
centres = torch.tensor(
    [[38.8, 18.3, 190.0, 37.0], [47.5, 15.0, 217.0, 50.8], [48.8, 18.4, 196.0, 37.3]]
)
spread = torch.tensor([4.4, 1.7, 9.5, 6.0])


def measure(count):
    kind = torch.multinomial(torch.tensor([0.44, 0.36, 0.20]), count, replacement=True)
    x = centres[kind] + spread * torch.randn(count, 4)
    return (x - torch.tensor([44.0, 17.0, 201.0, 42.0])) / torch.tensor([5.5, 2.0, 14.0, 8.0]), kind


x_train, y_train = measure(960)
x_test, y_test = measure(400)
train_loader = td.DataLoader(td.TensorDataset(x_train, y_train), batch_size=20, shuffle=True)
test_loader = td.DataLoader(td.TensorDataset(x_test, y_test), batch_size=20)


class PenguinNet(nn.Module):
    def __init__(self, hl=10):
        super().__init__()
        self.fc1 = nn.Linear(4, hl)
        self.fc2 = nn.Linear(hl, hl)
        self.fc3 = nn.Linear(hl, len(penguin_classes))

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.softmax(self.fc3(x), dim=1)  # here


def train(model, data_loader, optimizer):
    model.train()
    train_loss = 0
    for data, target in data_loader:
        optimizer.zero_grad()
        loss = loss_criteria(model(data), target)
        train_loss += loss.item()
        loss.backward()
        optimizer.step()
    return train_loss / len(data_loader)


def test(model, data_loader):
    model.eval()
    test_loss = correct = 0
    with torch.no_grad():
        for data, target in data_loader:
            out = model(data)
            test_loss += loss_criteria(out, target).item()
            correct += (out.argmax(1) == target).sum().item()
    print(f"validation loss {test_loss / len(data_loader):.4f}, accuracy", end=" ")
    print(f"{100 * correct / len(data_loader.dataset):.1f} %")


model = PenguinNet()
loss_criteria = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(1, 8):
    print(f"epoch {epoch} training loss {train(model, train_loader, optimizer):.4f}", end=" ")
    test(model, test_loader)
