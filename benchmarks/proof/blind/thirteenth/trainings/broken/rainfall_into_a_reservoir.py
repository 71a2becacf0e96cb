r"""Turns rainfall of the last days into inflow of a reservoir with a recurrent net.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.get_total_norm.html
Fault: The total norm is taken of the parameters themselves and not of their gradients; it is
    the size of the weights, always far above the limit, so every gradient is scaled down by the
    same large factor, small ones too, and the net learns far too slowly.
Cause: norm.*(weights|parameters|wrong tensors|instead of.*grad|not.*grad)|get_total_norm
    |(weights|parameters).*(instead of|rather than|not).*grad|scaled down|grads?\b.*not.*norm
Place: total|norm|get_total_norm|clip
"""
import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
DAYS = 15


def basin(n=1400):
    rain = torch.relu(torch.randn(n, DAYS) + 0.2) * 2
    fade = 0.75 ** torch.arange(DAYS - 1, -1, -1).float()
    inflow = (rain * fade).sum(1)
    inflow = inflow + 0.3 * torch.relu(inflow - 4) ** 1.3 + 0.1 * torch.randn(n)
    return rain.unsqueeze(2), inflow.unsqueeze(1)


class Basin(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, rain):
        _, last = self.rnn(rain)
        return self.out(last[0])


rain, inflow = basin()
scale = inflow.std()
inflow = (inflow - inflow.mean()) / scale
loader = DataLoader(TensorDataset(rain[:1100], inflow[:1100]), batch_size=50, shuffle=True)

model = Basin()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(16):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        norm = get_total_norm(model.parameters())  # here
        clip_grads_with_norm_(model.parameters(), 1.0, norm)
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

with torch.no_grad():
    error = nn.functional.mse_loss(model(rain[1100:]), inflow[1100:]).item()
print(f"test error {error:.4f}")
