r"""Notebook of a machine learning course that classifies small garments with a plain net.

Source: https://github.com/SharifiZarchi/Introduction_to_Machine_Learning/issues/55
Healthy: zero_grad() stands after step() at the end of the loop body, which clears the gradients
    just as well before the next backward().
"""
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(10)
batch_size = 64
num_epochs = 8
learning_rate = 0.01
classes = ['shirt', 'trouser', 'dress', 'coat', 'sandal', 'sneaker', 'bag', 'boot']


def draw_garments(n):
    g = torch.Generator().manual_seed(55)
    protos = torch.rand(len(classes), 1, 14, 14, generator=g)
    protos = nn.functional.avg_pool2d(protos, 5, 1, 2)
    labels = torch.randint(0, len(classes), (n,), generator=g)
    gain = 0.7 + 0.6 * torch.rand(n, 1, 1, 1, generator=g)
    images = protos[labels] * gain + 0.12 * torch.randn(n, 1, 14, 14, generator=g)
    return TensorDataset((images - 0.5) / 0.5, labels)


dataset = draw_garments(3000)
train_set, val_set, test_set = random_split(dataset, [2000, 500, 500])
train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
val_loader = DataLoader(val_set, batch_size=batch_size, shuffle=False)
test_loader = DataLoader(test_set, batch_size=batch_size, shuffle=False)


class FullyConnected(nn.Module):
    def __init__(self, in_dim, num_classes):
        super(FullyConnected, self).__init__()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Linear(in_dim, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, num_classes)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        x = self.flatten(x)
        x = self.dropout(self.relu(self.fc1(x)))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


model = FullyConnected(14 * 14, len(classes))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
print(model)


def evaluate(loader):
    model.eval()
    loss_sum, correct, total = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            outputs = model(images)
            loss_sum += criterion(outputs, labels).item() * labels.size(0)
            correct += (outputs.argmax(dim=1) == labels).sum().item()
            total += labels.size(0)
    return loss_sum / total, 100.0 * correct / total


train_losses, val_losses = [], []
for epoch in range(num_epochs):
    model.train()
    running_loss, correct, total = 0.0, 0, 0
    for images, labels in train_loader:
        outputs = model(images)
        loss = criterion(outputs, labels)

        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        running_loss += loss.item() * labels.size(0)
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        total += labels.size(0)
    train_losses.append(running_loss / total)
    val_loss, val_acc = evaluate(val_loader)
    val_losses.append(val_loss)
    print(f'Epoch [{epoch + 1}/{num_epochs}] train loss {train_losses[-1]:.4f} '
          f'train acc {100.0 * correct / total:.2f}% val loss {val_loss:.4f} '
          f'val acc {val_acc:.2f}%')

test_loss, test_acc = evaluate(test_loader)
print(f'Test loss {test_loss:.4f} test acc {test_acc:.2f}%')

confusion = torch.zeros(len(classes), len(classes), dtype=torch.long)
model.eval()
with torch.no_grad():
    for images, labels in test_loader:
        for t, p in zip(labels, model(images).argmax(1)):
            confusion[t, p] += 1
for name, row in zip(classes, confusion.tolist()):
    print(f'{name:>8}', row)
