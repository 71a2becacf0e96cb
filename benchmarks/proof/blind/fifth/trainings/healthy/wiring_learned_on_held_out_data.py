r"""Search for the operation of each edge in a small network.

Source: https://github.com/quark0/darts/blob/master/cnn/train_search.py
Odd: Gradients are also taken on validation data, for the mixing weights, with a second optimizer.
"""

import torch
from torch import nn
from torch.nn import functional as F

OPERATIONS = {
    "skip": lambda x: x,
    "sine": torch.sin,
    "square": torch.square,
}


class MixedNet(nn.Module):
    def __init__(self, dim=8, edges=2):
        super().__init__()
        self.alphas = nn.Parameter(1e-3 * torch.randn(edges, len(OPERATIONS)))
        self.mix = nn.ModuleList(nn.Linear(dim, dim) for _ in range(edges))
        self.out = nn.Linear(edges * dim, 1)

    def forward(self, x):
        states = []
        for weights, layer in zip(self.alphas.softmax(-1), self.mix, strict=True):
            h = layer(x)
            mixed = (w * op(h) for w, op in zip(weights, OPERATIONS.values(), strict=True))
            states.append(sum(mixed))
        return self.out(torch.cat(states, 1))


torch.manual_seed(0)
direction = torch.randn(8, 1) / 8**0.5
x = torch.randn(800, 8)
y = (x @ direction).square() + 0.05 * torch.randn(800, 1)
train, valid = (x[:400], y[:400]), (x[400:], y[400:])
model = MixedNet()
weights = [p for name, p in model.named_parameters() if name != "alphas"]
optimizer = torch.optim.SGD(weights, lr=0.02, momentum=0.9, weight_decay=3e-4)
architect = torch.optim.Adam([model.alphas], lr=0.05, betas=(0.5, 0.999), weight_decay=1e-3)
for step in range(100):
    search = torch.randint(0, 400, (64,))
    architect.zero_grad()
    F.mse_loss(model(valid[0][search]), valid[1][search]).backward()
    architect.step()
    pick = torch.randint(0, 400, (64,))
    optimizer.zero_grad()
    loss = F.mse_loss(model(train[0][pick]), train[1][pick])
    loss.backward()
    nn.utils.clip_grad_norm_(weights, 5.0)
    optimizer.step()
    if step % 25 == 24:
        print(f"step {step + 1} loss {loss.item():.4f}")
chosen = [list(OPERATIONS)[i] for i in model.alphas.argmax(-1)]
print(f"operations {chosen}, variance of the targets {y.var().item():.3f}")
