r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#taking-care-of-batch-normalization
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(104)
mu = 3 + 2 * torch.randn(5, 10)
lab = torch.randint(5, (900,))
x = mu[lab] + 1.5 * torch.randn(900, 10)
loader = DataLoader(TensorDataset(x[:700], lab[:700]), batch_size=70, shuffle=True)
model = nn.Sequential(
    nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(),
    nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 5),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
swa_model = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
ce = nn.CrossEntropyLoss()
for epoch in range(12):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        optimizer.step()
    if epoch >= 6:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
update_bn(loader, swa_model)
swa_model.eval()
with torch.no_grad():
    out = swa_model(x[700:])
print("swa acc", (out.argmax(1) == lab[700:]).float().mean().item(), "loss", ce(out, lab[700:]).item())
