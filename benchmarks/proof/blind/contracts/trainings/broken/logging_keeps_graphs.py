r"""A training of `Regressor`.

Source: https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
Fault: The running loss sums the loss tensors themselves instead of loss.item(), so the graphs of
    all batches stay in memory.
Cause: item\(\)|detach|(graph|memory).{0,80}(kept|grow|accumul|leak|retain|hold|stay|alive)
    |(accumul|sum|stor)\w*.{0,60}(tensor|graph|history)|memory
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(262)
pix = torch.randn(640, 1, 12, 12)
pix[:, 0, 3:9, 3:9] += torch.linspace(-2, 2, 640)[:, None, None]
level = torch.linspace(-2, 2, 640).unsqueeze(1)
order = torch.randperm(640)
ds = TensorDataset(pix[order], level[order])
loader = DataLoader(ds, batch_size=32, shuffle=True)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8, 1)

    def forward(self, im):
        return self.fc(torch.tanh(self.conv(im)).mean((2, 3)))


net = Regressor()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
mse = nn.MSELoss()
running_loss, batches = 0.0, 0
for epoch in range(5):
    for xb, yb in loader:
        opt.zero_grad()
        loss = mse(net(xb), yb)
        loss.backward()
        opt.step()
        running_loss += loss
        batches += 1
    print(f"epoch {epoch}: average loss so far {running_loss / batches:.4f}")
print("done", running_loss)
