r"""A classifier of sentence pairs whose number of hidden layers is an option.

Source: https://github.com/pytorch/pytorch/issues/715
Fault: The hidden layers sit in a plain list, so the optimizer never sees them and they stay random.
Cause: list|ModuleList|not register|unregister|hid\w*.*(not|never).*(optim|train|paramet)
Place: hids|hidden|ModuleList
"""

import torch
import torch.nn.functional as F
from torch import nn


class SNLINet(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(options["n_words"], options["n_emb"])
        self.hids = []  # here
        indim = 2 * options["n_emb"]
        for _ in range(options["n_layers"]):
            self.hids.append([nn.Linear(indim, options["n_hid"]), getattr(nn, options["act"])()])
            indim = options["n_hid"]
        self.classifier = nn.Linear(indim, 3)

    def forward(self, premise, hypothesis):
        x = torch.cat([self.embed(premise).mean(1), self.embed(hypothesis).mean(1)], dim=1)
        for linear, act in self.hids:
            x = act(linear(x))
        return self.classifier(x)


options = {"n_words": 30, "n_emb": 16, "n_hid": 32, "n_layers": 4, "act": "Tanh"}
torch.manual_seed(1234)
model = SNLINet(options)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
premise = torch.randint(0, 30, (300, 3))
hypothesis = torch.randint(0, 30, (300, 3))
topic = (premise.float().mean(1) // 10).long(), (hypothesis.float().mean(1) // 10).long()
label = (topic[0] - topic[1]) % 3

print("parameters:", sum(p.numel() for p in model.parameters()))
for epoch in range(120):
    loss = F.cross_entropy(model(premise, hypothesis), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch} loss {loss.item():.4f}")
