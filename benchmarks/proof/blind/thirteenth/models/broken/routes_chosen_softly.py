r"""Travel cost of an order: a relaxed choice of a carrier is drawn, then its cost is predicted.

Source: https://docs.pytorch.org/docs/stable/distributions.html#relaxedonehotcategorical
Fault: the relaxed choice is drawn with sample(), which is cut off from the graph, instead of
    rsample(); the network that makes the choice gets no gradient.
Cause: rsample|\bsample\b.{0,120}(gradient|graph|detach|no_grad|reparam|differentiab|cut)
    |(gradient|graph|detach|reparam|differentiab).{0,100}\b(sample|sampling|draw|drawn)\b
    |(drawn|sampled|choice).{0,80}(detach|without (a )?gradient|no gradient|cut off)
Place: sample|chooser|choice|draw|law
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import RelaxedOneHotCategorical

ORDER, CARRIERS = 10, 4


class CarrierCost(nn.Module):
    def __init__(self, hidden=48, temperature=0.5):
        super().__init__()
        self.chooser = nn.Sequential(
            nn.Linear(ORDER, hidden), nn.ReLU(),
            nn.Linear(hidden, CARRIERS),
        )
        self.tariffs = nn.Linear(ORDER, CARRIERS)
        self.register_buffer("temperature", torch.tensor(temperature))

    def forward(self, order, cost):
        logits = self.chooser(order)
        if self.training:
            law = RelaxedOneHotCategorical(self.temperature, logits=logits)
            choice = law.sample()  # here
        else:
            choice = F.softmax(logits / self.temperature, dim=-1)
        predicted = (choice * self.tariffs(order)).sum(-1)
        return F.mse_loss(predicted, cost)


def make_orders(n, seed):
    g = torch.Generator().manual_seed(seed)
    order = torch.randn(n, ORDER, generator=g)
    rules = torch.randn(2, ORDER, CARRIERS, generator=torch.Generator().manual_seed(68))
    carrier = (order @ rules[0]).argmax(-1, keepdim=True)
    cost = (order @ rules[1]).gather(1, carrier).squeeze(-1) / 3
    return order, cost + 0.05 * torch.randn(n, generator=g)


def build():
    torch.manual_seed(0)
    return CarrierCost()


def example_inputs():
    return make_orders(128, seed=69)
