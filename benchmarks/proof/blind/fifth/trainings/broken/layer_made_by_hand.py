r"""Network with layers written by hand, fitted to a pattern of four quadrants.

Source: https://pages.dogdog.run/machine_learning/weight_initialization.html
Fault: All weights of a layer start with the same value, so its units stay copies for ever.
Cause: \binit\w*|symmetr\w*|(same|equal|identical) .*(weights?|columns?|units?|neurons?|gradients?)
    |(columns?|units?|neurons?|hidden) .*(same|equal|identical|copies|duplicate)|\brank\b
Place: \b(first|second|last)\.w\b
"""

import torch


class Layer(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        value = 1.0 / in_features
        self.w = torch.nn.Parameter(torch.full((in_features, out_features), value))  # here
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
