r"""Distribution of the demand of the next day, from which the order for the day follows.

Source: https://github.com/locuslab/e2e-model-learning/issues/11
Fault: The loss gets the probabilities after the softmax, but it expects their logarithms, so not
    the likelihood but the mean probability is maximised and the forecasts become over-confident.
Cause: log.?prob|log_softmax|logarithm|\blog\b.{0,40}(softmax|prob)|softmax.{0,60}(nll|loss|log)
    |nll\w*.{0,80}(prob|softmax|expect|raw|negative)|loss.{0,40}(negative|below zero)
Place: nll_loss|NLLLoss|softmax|criterion|forward|loss_fn
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(73)
DEMANDS = torch.tensor([1.0, 2.0, 5.0, 10.0, 20.0])
COST = {"c": 10.0, "b": 30.0, "h": 14.0}
theta = torch.randn(10, len(DEMANDS)) * 0.6


def days(count):
    X = torch.randn(count, 10)
    return TensorDataset(X, torch.distributions.Categorical(logits=X @ theta).sample())


class MLE_Net(nn.Module):
    def __init__(self, inputs, outputs, hidden=32):
        super().__init__()
        self.lin1 = nn.Linear(inputs, hidden)
        self.lin2 = nn.Linear(hidden, outputs)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, X):
        return self.softmax(self.lin2(torch.relu(self.lin1(X))))


def task_cost(p, demand):
    short = (DEMANDS[None] - DEMANDS[:, None]).clamp(min=0)
    over = (DEMANDS[:, None] - DEMANDS[None]).clamp(min=0)
    table = COST["c"] * DEMANDS[:, None] + COST["b"] * short + COST["h"] * over
    order = (p @ table.T).argmin(1)
    return table[order, demand].mean().item()


def train(net, loader, epochs=12):
    loss_fn = nn.NLLLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(epochs):
        losses = []
        for X, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(net(X), y)  # here
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: nll {sum(losses) / len(losses):.4f}")
    return net


net = train(MLE_Net(10, len(DEMANDS)), DataLoader(days(1600), batch_size=64, shuffle=True))
X, demand = days(4000).tensors
with torch.no_grad():
    p = net(X)
    likelihood = p.gather(1, demand[:, None]).clamp(min=1e-12).log().mean().item()
flat = torch.full_like(p, 1 / len(DEMANDS)).log()[0, 0].item()
print(f"mean log likelihood {likelihood:.3f} (of equal shares {flat:.3f})")
print(f"cost of the orders {task_cost(p, demand):.2f}")
