r"""Small digits in a perceptron, with a validation after each epoch that keeps the best.

Source: https://github.com/udacity/deep-learning-v2-pytorch/issues/3
Fault: The model is not put in evaluation mode, so that validation and test run with dropout.
Cause: eval(uation)?.{0,10}mode|\.eval\(\)|model\.eval
    |dropout.{0,80}(active|on\b|valid|test|evaluat)|training mode.{0,60}(valid|test|eval)
    |(valid|test|eval)\w*.{0,60}training mode
Place: model|validate|test|eval
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(30)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = x.view(-1, 64)
        x = self.dropout(F.relu(self.fc1(x)))
        x = self.dropout(F.relu(self.fc2(x)))
        return self.fc3(x)


shapes = (torch.rand(10, 1, 8, 8) > 0.5).float()
targets = torch.randint(0, 10, (2400,))
images = shapes[targets] + 0.8 * torch.randn(2400, 1, 8, 8)
train_data, valid_data, test_data = random_split(TensorDataset(images, targets), [1600, 400, 400])
train_loader = DataLoader(train_data, batch_size=40, shuffle=True)
valid_loader = DataLoader(valid_data, batch_size=40)
test_loader = DataLoader(test_data, batch_size=40)

model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
valid_loss_min = float("inf")
for epoch in range(8):
    train_loss = valid_loss = 0.0
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
    for data, target in valid_loader:  # here
        with torch.no_grad():
            valid_loss += criterion(model(data), target).item() * data.size(0)
    train_loss, valid_loss = train_loss / len(train_data), valid_loss / len(valid_data)
    note = ""
    if valid_loss < valid_loss_min:
        best = {name: value.clone() for name, value in model.state_dict().items()}
        valid_loss_min, note = valid_loss, "kept"
    print(f"Epoch {epoch + 1} training {train_loss:.4f} validation {valid_loss:.4f} {note}")

model.load_state_dict(best)
correct = 0
for data, target in test_loader:
    with torch.no_grad():
        correct += (model(data).argmax(1) == target).sum().item()
print(f"Test accuracy {correct / len(test_data):.3f}")
