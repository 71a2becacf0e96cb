r"""A training.

Source: https://scikit-learn.org/stable/common_pitfalls.html
Fault: The test set is a slice of data that the training also contains, so the model is tested on
    samples it was trained on.
Cause: leak|overlap|(test|eval)\w*.{0,100}(train|seen|same|also|contain|inside|subset)|contaminat
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(194)
n = 300
x = torch.randn(n, 40)
y = (x[:, 0] - x[:, 1] + 1.5 * torch.randn(n) > 0).long()
data = TensorDataset(x, y)
perm = torch.randperm(n).tolist()
test_set = Subset(data, perm[:80])
train_set = Subset(data, perm)

model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    for xb, yb in DataLoader(train_set, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")

model.eval()
correct = 0
with torch.no_grad():
    for xb, yb in DataLoader(test_set, batch_size=40):
        correct += (model(xb).argmax(1) == yb).sum().item()
print("test accuracy", correct / len(test_set))
