r"""Classifier of tabular rows of which a few belong to a rare class.

Source: https://github.com/cgrtml/neural-trees/pull/75
Fault: One row in twenty is of the rare class and neither the loss nor the sampling makes up for
    it, so the rare class is hardly ever predicted while the accuracy looks good.
Cause: imbalanc|unbalanc|(class|sample|pos)_?.?weight|minority|majority|rare class|skewed|(class
    |label)\w*.{0,60}(frequen|rare|few|proportion|distribution|dominat|prior)|over.?sampl
Place: class_weight|weights?|sampler|cross_entropy|criterion|labels?
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(107)
direction = F.normalize(torch.randn(12), dim=0)


def table(rows):
    rare = torch.rand(rows) < 0.05
    x = torch.randn(rows, 12) + 1.35 * rare[:, None] * direction
    return TensorDataset(x, rare.long())


class GALNetwork(nn.Module):
    def __init__(self, inputs, classes, hidden=16):
        super().__init__()
        self.columns = nn.ModuleList([nn.Linear(inputs, hidden)])
        self.head = nn.Linear(hidden, classes)
        self.hidden = hidden

    def grow(self):
        self.columns.append(nn.Linear(self.head.in_features, self.hidden))

    def forward(self, x):
        h = torch.tanh(self.columns[0](x))
        for column in self.columns[1:]:
            h = h + torch.tanh(column(h))
        return self.head(h)


class GALClassifier:
    def __init__(self, stages=2, epochs=6, lr=3e-3):
        self.stages, self.epochs, self.lr = stages, epochs, lr

    def fit(self, dataset):
        self.network = GALNetwork(12, 2)
        loader = DataLoader(dataset, batch_size=64, shuffle=True)
        for stage in range(self.stages):
            if stage:
                self.network.grow()
            optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
            for _ in range(self.epochs):
                hits, total = 0, 0
                for x, y in loader:
                    scores = self.network(x)
                    loss = F.cross_entropy(scores, y)  # here
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    hits += (scores.argmax(1) == y).sum().item()
                    total += len(y)
            print(f"stage {stage}: loss {loss.item():.4f} accuracy {hits / total:.4f}")
        return self

    @torch.no_grad()
    def predict(self, x):
        return self.network(x).argmax(1)


train_set, test_set = random_split(table(4000), [2400, 1600])
model = GALClassifier().fit(train_set)
x, y = next(iter(DataLoader(test_set, batch_size=len(test_set))))
predicted = model.predict(x)
recall = [(predicted[y == c] == c).float().mean().item() for c in (0, 1)]
print(f"recall {recall[0]:.3f} of the common class, {recall[1]:.3f} of the rare class")
print(f"accuracy {(predicted == y).float().mean().item():.3f} balanced {sum(recall) / 2:.3f}")
