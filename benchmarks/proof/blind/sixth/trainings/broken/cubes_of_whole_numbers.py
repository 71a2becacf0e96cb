r"""Regression of the cube of whole numbers by a network with one hidden layer.

Source: https://discuss.pytorch.org/t/neural-network-could-not-learn-on-this-type-of-data-why/96648/5
Fault: Input and target are not normalised, and the targets go up to tens of thousands of millions.
Cause: scal|normali[sz]|standardi[sz]
    |(target|input|label|value)s?.{0,60}(large|huge|range|magnitude|big)
    |(large|huge|big).{0,30}(target|input|label|value|loss)
Place: \binputs\b|\btarget\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(in_features=1, out_features=50, bias=True)
        self.fc2 = nn.Linear(in_features=50, out_features=1, bias=True)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)


torch.manual_seed(0)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()

numbers = torch.arange(1, 4000).float()
inputs = numbers.unsqueeze(1)  # here
target = (numbers**3).unsqueeze(1)  # here

for epoch in range(120):
    optimizer.zero_grad()
    out = model(inputs)
    loss = criterion(out, target)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"Epoch {epoch}, loss {loss.item():.4g}, max. pred val {out.max().item():.4g}")
with torch.no_grad():
    explained = 1 - criterion(model(inputs), target) / target.var()
print(f"explained variance {explained.item():.4f}")
