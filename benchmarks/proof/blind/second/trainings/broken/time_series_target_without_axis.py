r"""Trains a forecaster of the next value (horizon one) of a series.

Source: https://github.com/jsboige/CoursIA/pull/926
    https://github.com/LAMDA-Tabular/TALENT/pull/92
Fault: the prediction is (batch, 1) and the target (batch,), so MSELoss compares all pairs and the
    model learns the mean of the batch.
Cause: broadcast|\bshapes?\b|squeeze|view_as|target size|all pairs|64 ?(x|,|×) ?64
Place: criterion|y_batch|\bpred\b
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
t = torch.arange(420) * 0.3
series = torch.sin(t) + 0.5 * torch.sin(2.7 * t) + 0.05 * torch.randn(420)
windows = series.unfold(0, 17, 1)
dataset = TensorDataset(windows[:, :16, None], windows[:, 16])
train_loader = DataLoader(dataset, batch_size=64, shuffle=True)


class Forecaster(nn.Module):
    def __init__(self, d_model=32, pred_len=1):
        super().__init__()
        self.lstm = nn.LSTM(1, d_model, batch_first=True)
        self.head = nn.Linear(d_model, pred_len)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for epoch in range(10):
    total = 0.0
    for x_batch, y_batch in train_loader:
        optimizer.zero_grad()
        pred = model(x_batch)
        loss = criterion(pred, y_batch)  # here
        loss.backward()
        optimizer.step()
        total += loss.item()
    spread = pred.detach().std().item()
    print(f"epoch {epoch} mse {total / len(train_loader):.4f} spread of predictions {spread:.4f}")
