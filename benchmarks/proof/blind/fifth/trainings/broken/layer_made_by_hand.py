r"""Network with layers written by hand, fitted to a pattern of four quadrants.

Source: https://pages.dogdog.run/machine_learning/weight_initialization.html
Fault: One random column is repeated for all units of a layer, so the units stay copies for ever.
Cause: init\w*|symmetr\w*|(same|equal|identical) .*(weights?|columns?|units?|neurons?|gradients?)
    |(columns?|units?|neurons?|hidden) .*(same|equal|identical|copies|duplicate)|rank
Place: \w*\.?w|weight|first|second
"""

import torch


class Layer(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        column = torch.randn(in_features, 1) / in_features**0.5
        self.w = torch.nn.Parameter(column.repeat(1, out_features))  # here
        self.b = torch.nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        return torch.matmul(x, self.w) + self.b


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Layer(2, 16)
        self.second = Layer(16, 16)
        self.last = Layer(16, 1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return self.last(x)[:, 0]


torch.manual_seed(2)
points = torch.rand(400, 2) * 2 - 1
quadrant = (points[:, 0] * points[:, 1] > 0).float()
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.03)
criterion = torch.nn.BCEWithLogitsLoss()
for epoch in range(100):
    out = net(points)
    optimizer.zero_grad()
    loss = criterion(out, quadrant)
    loss.backward()
    optimizer.step()
    if epoch % 25 == 24:
        accuracy = ((out > 0) == quadrant.bool()).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} accuracy {accuracy:.3f}")
