r"""Detection of rare frauds in a table of transactions.

Source: https://github.com/georgymh/ml-fraud-detection/issues/1
Fault: The frauds are duplicated before the split, so the test holds copies of training rows.
Cause: (over|re)sampl\w*|duplicat\w*|copies|leak\w*
    |(test|valid\w*|held\W?out) .*(overlap|same rows|seen|shared?)
    |(rows?|samples?) .*(both|train\w* and)|before .*split
Place: \bX_balanced\b|\by_balanced\b|\boversample\b
"""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(7)
torch.manual_seed(7)
fraud = rng.random(700) < 0.06
X = rng.normal(size=(700, 40)).astype(np.float32)
X[fraud, :2] += 1.2
y = fraud.astype(np.float32)


def oversample(X, y):
    rare, common = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    index = np.concatenate([common, rng.choice(rare, len(common))])
    return X[index], y[index]


def split(X, y, part=0.3):
    order = rng.permutation(len(X))
    cut = int(part * len(X))
    return X[order[cut:]], y[order[cut:]], X[order[:cut]], y[order[:cut]]


X_balanced, y_balanced = oversample(X, y)  # here
X_train, y_train, X_test, y_test = map(torch.from_numpy, split(X_balanced, y_balanced))

net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(100):
    pick = torch.randint(0, len(X_train), (128,))
    loss = nn.functional.binary_cross_entropy_with_logits(net(X_train[pick])[:, 0], y_train[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    guess = (net(X_test)[:, 0] > 0).float()
hits = (guess * y_test).sum()
precision, recall = hits / guess.sum().clamp(min=1), hits / y_test.sum()
f1 = 2 * precision * recall / (precision + recall).clamp(min=1e-6)
print(f"loss {loss.item():.4f} precision {precision:.3f} recall {recall:.3f} f1 {f1:.3f}")
