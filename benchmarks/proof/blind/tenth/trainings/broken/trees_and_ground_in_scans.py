r"""Points of a laser scan of a forest told apart as ground, stems and leaves.

Source: https://github.com/SKrisanski/FSCT/issues/11
Fault: The sums of loss and accuracy over the validation batches are divided by the number of the
    training batches, so the printed validation loss and accuracy are several times too small.
Cause: (valid|val).{0,120}(divid|len|train|batches|number|averag|normali|denominator)
    |divid.{0,80}(train|wrong|number|length)|(train_loader|training batches
    |length of the train).{0,80}(valid|val|divid|instead)|wrong (denominator|length|divisor)
Place: val_epoch_loss|val_epoch_acc|train_loader|val_loader|len|running_loss
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
KINDS = 3


def scan(count):
    kind = torch.randint(0, KINDS, (count,))
    height = torch.where(kind == 0, 0.1 * torch.randn(count), 2 + 6 * torch.rand(count))
    spread = torch.tensor([0.3, 0.1, 0.8])[kind] + 0.12 * torch.randn(count)
    upright = torch.tensor([0.0, 0.9, 0.4])[kind] + 0.25 * torch.randn(count)
    return torch.stack([height / 4, spread, upright, torch.randn(count)], 1), kind


train_loader = DataLoader(TensorDataset(*scan(4000)), batch_size=100, shuffle=True)
val_loader = DataLoader(TensorDataset(*scan(800)), batch_size=100)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    running_loss, running_acc = 0.0, 0.0
    for points, kinds in train_loader:
        optimizer.zero_grad()
        outputs = model(points)
        loss = criterion(outputs, kinds)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        running_acc += (outputs.argmax(1) == kinds).float().mean().item()
    epoch_loss = running_loss / len(train_loader)
    epoch_acc = running_acc / len(train_loader)

    model.eval()
    running_loss, running_acc = 0.0, 0.0
    with torch.no_grad():
        for points, kinds in val_loader:
            outputs = model(points)
            running_loss += F.cross_entropy(outputs, kinds).item()
            running_acc += (outputs.argmax(1) == kinds).float().mean().item()
    val_epoch_loss = running_loss / len(train_loader)  # here
    val_epoch_acc = running_acc / len(train_loader)  # here
    print(
        f"epoch {epoch + 1} train loss {epoch_loss:.4f} acc {epoch_acc:.3f} "
        f"val loss {val_epoch_loss:.4f} acc {val_epoch_acc:.3f}"
    )
