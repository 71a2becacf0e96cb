r"""Training on spots of a tissue with a random validation split.

Source: https://github.com/ratschlab/aestetik/pull/12
Fault: The training loader wraps the whole data set, so the validation samples are trained on.
Cause: (validation|held.?out).*(train|leak|overlap|seen)|leak|overlap
    |(full|whole|entire) (data ?set)
Place: train_dataloader|loader|dataset|train_dataset
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(120, 30), torch.randint(0, 2, (120,)))
train_dataset, val_dataset = random_split(dataset, [90, 30])
train_dataloader = DataLoader(dataset, batch_size=30, shuffle=True)  # here
val_dataloader = DataLoader(val_dataset, batch_size=30)
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    for x, y in train_dataloader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
for x, y in val_dataloader:
    print(f"validation accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
