r"""Trains a light ranker whose hidden layers are built in a loop.

Source: https://github.com/twitter/the-algorithm-ml/pull/136
    https://github.com/pytorch/pytorch/issues/38639
Fault: the layers are stored in a Python list, so model.parameters() gives only the last layer to
    the optimiser and the hidden ones stay random.
Cause: ModuleList|(not|un).?registered|(plain|python) list|not in .?(the )?(parameters|optimi)
Place: \blayers\b|\bmlp\b
"""

import torch
from torch import nn

torch.manual_seed(20)


class MLP(nn.Module):
    def __init__(self, in_features, layer_sizes):
        super().__init__()
        self.layers = []
        for size in layer_sizes:
            self.layers.append(nn.Linear(in_features, size))  # here
            in_features = size
        self.out = nn.Linear(in_features, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x).squeeze(1)


x = torch.randn(1000, 10)
engaged = ((x[:, 0] * x[:, 1] > 0) & (x[:, 2] > 0)).float()
model = MLP(10, [16, 8])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
print("parameters", sum(p.numel() for p in model.parameters()))
for epoch in range(10):
    total = 0.0
    for rows in torch.randperm(1000).split(50):
        logits = model(x[rows])
        loss = nn.functional.binary_cross_entropy_with_logits(logits, engaged[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 20
    print(f"epoch {epoch} loss {total:.4f}")
