r"""Forecast of the electric load of a town from the last two days, with a held-out part for test.

Source: https://github.com/Y-debug-sys/Diffusion-TS/issues/67
Fault: Overlapping windows are cut first and then shuffled into training and test, so nearly every
    test window shares its hours with training windows and the test error is far too good.
Cause: leak|overlap|(shuffl|random|perm).{0,80}(window|before|split|test|time)|(window|split
    |test) .{0,80}(shuffl|random|share|same (hours|values|samples))|not.{0,20}chronolog
    |test.{0,60}(seen in|part of|contained).{0,20}train
Place: divide|windows?|id_rdm|test_idx|train_idx|regular|test
"""

import torch
from torch import nn

torch.manual_seed(67)
PAST, AHEAD = 48, 12
hours = torch.arange(700).float()
load = torch.cumsum(0.5 * torch.randn(700), 0) + torch.sin(2 * torch.pi * hours / 24)
load = (load - load.mean()) / load.std()


def slide(series):
    return series.unfold(0, PAST + AHEAD, 1).clone()


def divide(data, ratio=0.8):
    size = len(data)
    regular_train_num = int(ratio * size)
    id_rdm = torch.randperm(size)  # here
    train_idx, test_idx = id_rdm[:regular_train_num], id_rdm[regular_train_num:]
    return data[train_idx], data[test_idx]


train, test = divide(slide(load))
model = nn.Sequential(
    nn.Linear(PAST, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, AHEAD)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
for epoch in range(30):
    model.train()
    total = 0.0
    batches = torch.randperm(len(train)).split(64)
    for rows in batches:
        batch = train[rows]
        loss = criterion(model(batch[:, :PAST]), batch[:, PAST:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 6 == 5:
        model.eval()
        with torch.no_grad():
            error = criterion(model(test[:, :PAST]), test[:, PAST:]).item()
            last = criterion(test[:, PAST - 1 : PAST].expand(-1, AHEAD), test[:, PAST:]).item()
        print(
            f"epoch {epoch + 1} train {total / len(batches):.4f} test {error:.4f} "
            f"(repeating the last hour {last:.4f})"
        )
