r"""A training of `PathNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Fault: Batch-first data goes into an LSTM without batch_first=True, so it runs over the batch axis
    and mixes the samples.
Cause: batch_?first|(over|along|across) the batch|batch (axis|dim)|mix\w* (the )?samples
    |time.?(first|major)|reads dimension 0 of its input .* as time
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(148)
n, T = 640, 25
kind = torch.randint(0, 2, (n,))
steps = 0.3 * torch.randn(n, T, 2)
trend = torch.linspace(-1, 1, T)
steps[:, :, 0] += torch.where(kind[:, None] == 1, trend, -trend)
path = steps.cumsum(1)
loader = DataLoader(TensorDataset(path[:512], kind[:512]), batch_size=32, shuffle=True)


class PathNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 32)
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out.mean(dim=1))


net = PathNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    for xb, yb in loader:
        opt.zero_grad()
        loss = loss_fn(net(xb), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
net.eval()
with torch.no_grad():
    print("acc", (net(path[512:]).argmax(1) == kind[512:]).float().mean().item())
