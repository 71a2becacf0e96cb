r"""Recurrent cell with a matrix memory that predicts the next value of a wave.

Source: https://github.com/andrewgcodes/xlstm/issues/4
Fault: The target has one row and the output a row for each unit of the batch, so it is broadcast.
Cause: broadcast|shapes? .*(differ|mismatch|not)|target size|\(\d+, ?\d*\)
    |(every|all|each) (rows?|waves?|samples?) .*(same|one) target
Place: \by_true\b
"""

import torch
from torch import nn


class MLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.qkv = nn.Linear(input_size, 3 * hidden_size)
        self.gates = nn.Linear(input_size, 2)
        self.hidden_size = hidden_size

    def forward(self, x, memory):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        keep, write = torch.sigmoid(self.gates(x)).split(1, dim=-1)
        memory = keep[..., None] * memory + write[..., None] * v[:, :, None] * k[:, None, :]
        return torch.einsum("bij,bj->bi", memory, q) / self.hidden_size**0.5, memory


class MLSTM(nn.Module):
    def __init__(self, input_size=2, hidden_size=12):
        super().__init__()
        self.cell = MLSTMCell(input_size, hidden_size)
        self.fc = nn.Linear(hidden_size + input_size, 1)

    def forward(self, sequence):
        memory = torch.zeros(sequence.size(1), self.cell.hidden_size, self.cell.hidden_size)
        outputs = []
        for x in sequence:
            h, memory = self.cell(x, memory)
            outputs.append(self.fc(torch.cat([torch.tanh(h), x], dim=-1)))
        return torch.stack(outputs)


torch.manual_seed(0)
phase = 6.28 * torch.rand(10)
time = torch.arange(13) * 0.7
wave = torch.sin(time[:, None] + phase)[..., None]
features = torch.cat([wave, torch.roll(wave, 1, dims=0)], dim=-1)[1:]
model = MLSTM()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(60):
    predictions = model(features[:-1])
    loss = 0.0
    for t in range(predictions.size(0)):
        y_pred = predictions[t]
        y_true = wave[t + 2, :1]  # here
        loss = loss + criterion(y_pred, y_true)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1} loss {loss.item() / predictions.size(0):.4f}")
error = (model(features[:-1]) - wave[2:]).square().mean().item()
print(f"error over all waves {error:.4f}")
