r"""Loop of a tutorial that prints loss and accuracy of each epoch, on woven patterns of six kinds.

Source: https://github.com/sotte/pytorch_tutorial/issues/10
Healthy: the sums are divided by the size of the data set and not by the number of batches; the loss
    of a batch is multiplied by its size before, so this is the mean over all samples.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(17)

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class PatternDataset(Dataset):
    """Six weaves, each at a random place and with noise."""

    def __init__(self, n, first=0, transform=None):
        super().__init__()
        self.targets = torch.randint(6, (n,))
        self.first = first
        self.transform = transform
        a = torch.arange(16)
        yy, xx = torch.meshgrid(a, a, indexing="ij")
        self.weaves = torch.stack([
            (xx % 4 < 2), (yy % 4 < 2), ((xx + yy) % 6 < 3), ((xx - yy) % 6 < 3),
            ((xx // 2 + yy // 2) % 2 == 0), ((xx % 5 == 0) | (yy % 5 == 0)),
        ]).float()

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        y = self.targets[idx]
        g = torch.Generator().manual_seed(self.first + int(idx))
        shift = torch.randint(0, 12, (2,), generator=g).tolist()
        x = torch.roll(self.weaves[y], shift, (0, 1))
        x = x + 0.7 * torch.randn(16, 16, generator=g)
        x = x.unsqueeze(0)
        if self.transform is not None:
            x = self.transform(x)
        return x, y


def normalize(x):
    return (x - 0.5) / 0.85


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.pool = nn.AdaptiveMaxPool2d(1)
        self.classifier = nn.Linear(24, n_classes)

    def forward(self, x):
        x = self.features(x)
        x = self.pool(x).flatten(1)
        return self.classifier(x)


train_ds = PatternDataset(900, transform=normalize)
val_ds = PatternDataset(250, first=10000, transform=normalize)
BATCH_SIZE = 64
train_dl = DataLoader(train_ds, batch_size=BATCH_SIZE, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=BATCH_SIZE, shuffle=False)

model = Net(6).to(DEVICE)
optimizer = optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()

N_EPOCHS = 7
for epoch in range(N_EPOCHS):

    # Train
    model.train()  # IMPORTANT

    running_loss, correct = 0.0, 0
    for X, y in train_dl:
        X, y = X.to(DEVICE), y.to(DEVICE)

        optimizer.zero_grad()
        y_ = model(X)
        loss = criterion(y_, y)
        loss.backward()
        optimizer.step()

        # Statistics
        _, y_label_ = torch.max(y_, 1)
        correct += (y_label_ == y).sum().item()
        running_loss += loss.item() * X.shape[0]

    print(f"Epoch {epoch + 1}/{N_EPOCHS}")
    print(f"  Train Loss: {running_loss / len(train_dl.dataset):.4f}")
    print(f"  Train Acc:  {correct / len(train_dl.dataset):.4f}")

    # Eval
    model.eval()  # IMPORTANT

    running_loss, correct = 0.0, 0
    with torch.no_grad():  # IMPORTANT
        for X, y in val_dl:
            X, y = X.to(DEVICE), y.to(DEVICE)

            y_ = model(X)

            _, y_label_ = torch.max(y_, 1)
            correct += (y_label_ == y).sum().item()
            loss = criterion(y_, y)
            running_loss += loss.item() * X.shape[0]

    print(f"  Valid Loss: {running_loss / len(val_dl.dataset):.4f}")
    print(f"  Valid Acc:  {correct / len(val_dl.dataset):.4f}")
