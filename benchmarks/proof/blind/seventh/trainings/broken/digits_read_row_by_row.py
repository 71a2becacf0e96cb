r"""Digits read row by row in an LSTM, whose last output is classified.

Source: https://github.com/pytorch/pytorch/issues/1538
Fault: The LSTM is not batch_first while the batch comes first, so it runs over the batch.
Cause: batch_first|(batch|time|sequence|first).{0,60}(dimension|axis|swap|transpos|first|order)
    |(over|across|along|mixes).{0,30}(the )?(batch|samples)
    |(one|each|other|different) samples?.{0,60}(mix|leak|depend|influence|state)
Place: lstm|batch_first|Rnn
"""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

batch_size = 50
learning_rate = 5e-3
num_epochs = 6
torch.manual_seed(77)


def draw(count):
    label = torch.randint(0, 8, (count,))
    rows = torch.arange(12).float()[None, :, None]
    cols = torch.arange(12).float()[None, None, :]
    slope = ((label % 4).float() - 1.5)[:, None, None]
    bend = torch.where(label < 4, 0.0, 0.16)[:, None, None]
    shift = 6 + 0.8 * torch.randn(count, 1, 1)
    middle = shift + slope * (rows - 6) / 2 + bend * ((rows - 6) ** 2 - 12)
    image = torch.exp(-((cols - middle) ** 2) / 2)
    return image + 0.1 * torch.randn(count, 12, 12), label


class Rnn(nn.Module):
    def __init__(self, in_dim, hidden_dim, n_layer, n_class):
        super().__init__()
        self.lstm = nn.LSTM(in_dim, hidden_dim, n_layer)  # here
        self.classifier = nn.Linear(hidden_dim, n_class)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.classifier(out[:, -1, :])


train_dataset, test_dataset = TensorDataset(*draw(1500)), TensorDataset(*draw(500))
train_loader = DataLoader(train_dataset, batch_size=batch_size, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=batch_size, shuffle=False)
model = Rnn(12, 48, 2, 8)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=learning_rate)
for epoch in range(num_epochs):
    running_loss = running_acc = 0.0
    for img, label in train_loader:
        out = model(img)
        loss = criterion(out, label)
        running_loss += loss.item() * label.size(0)
        running_acc += (out.argmax(1) == label).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        f"Finish {epoch + 1} epoch, Loss: {running_loss / len(train_dataset):.4f}, "
        f"Acc: {running_acc / len(train_dataset):.4f}"
    )
model.eval()
with torch.no_grad():
    hits = sum((model(img).argmax(1) == label).sum().item() for img, label in test_loader)
print(f"Test Acc: {hits / len(test_dataset):.4f}")
