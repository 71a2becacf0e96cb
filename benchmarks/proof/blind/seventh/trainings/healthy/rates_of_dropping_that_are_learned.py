r"""How much of each layer to drop is learned together with the weights.

Source: https://github.com/yaringal/ConcreteDropout
Odd: The rates of dropping are parameters that get gradients through a soft mask, also in
    evaluation the mask is on, and two regularisers are added to a loss that is divided by the
    number of samples.
"""

import torch
from torch import nn

torch.manual_seed(121)
SAMPLES, LENGTH_SCALE = 400, 1e-2


class ConcreteDropout(nn.Module):
    def __init__(self, layer, weight_regulariser, dropout_regulariser, temperature=0.1):
        super().__init__()
        self.layer = layer
        self.weight_regulariser = weight_regulariser
        self.dropout_regulariser = dropout_regulariser
        self.temperature = temperature
        self.p_logit = nn.Parameter(torch.tensor(-2.0))

    def forward(self, x):
        p = self.p_logit.sigmoid()
        eps = 1e-7
        u = torch.rand_like(x)
        drop = (p + eps).log() - (1 - p + eps).log() + (u + eps).log() - (1 - u + eps).log()
        x = x * (1 - torch.sigmoid(drop / self.temperature)) / (1 - p)
        return self.layer(x)

    def regularisation(self):
        p = self.p_logit.sigmoid()
        weights = sum(w.square().sum() for w in self.layer.parameters())
        entropy = p * p.log() + (1 - p) * (1 - p).log()
        size = self.layer.in_features
        decay = self.weight_regulariser * weights / (1 - p)
        return decay + self.dropout_regulariser * size * entropy


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        scale = dict(
            weight_regulariser=LENGTH_SCALE**2 / SAMPLES, dropout_regulariser=1.0 / SAMPLES
        )
        self.inward = nn.Linear(1, width)
        self.middle = ConcreteDropout(nn.Linear(width, width), **scale)
        self.outward = ConcreteDropout(nn.Linear(width, 2), **scale)

    def forward(self, x):
        h = torch.relu(self.middle(torch.relu(self.inward(x))))
        mean, log_var = self.outward(h).chunk(2, 1)
        return mean, log_var

    def regularisation(self):
        return self.middle.regularisation() + self.outward.regularisation()


def data(count):
    x = torch.randn(count, 1)
    return x, 2 * x + 1 + x.sin() + 0.3 * torch.randn(count, 1)


x, y = data(SAMPLES)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(400):
    rows = torch.randint(0, SAMPLES, (64,))
    mean, log_var = model(x[rows])
    nll = ((-log_var).exp() * (mean - y[rows]).square() + log_var).mean()
    loss = nll + model.regularisation()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        with torch.no_grad():
            draws = torch.stack([model(x)[0] for _ in range(20)])
        rmse = (draws.mean(0) - y).square().mean().sqrt().item()
        rates = [layer.p_logit.sigmoid().item() for layer in (model.middle, model.outward)]
        shown = " ".join(f"{rate:.3f}" for rate in rates)
        print(f"{step + 1} loss {loss.item():+.3f} rmse {rmse:.3f} rates {shown}")
