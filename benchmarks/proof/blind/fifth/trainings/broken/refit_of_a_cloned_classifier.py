r"""Wrapper of a classifier that can be cloned and fitted again from scratch.

Source: https://github.com/Trusted-AI/adversarial-robustness-toolbox/pull/1580
Fault: The clone takes over the optimizer of the original, which updates the old network only.
Cause: optimi[sz]er .*(old|other|original|another|different|not|wrong|first|same)
    |(not|never|none|no) .*optimi[sz]er|parameters .*(other|old|original|not (in|held|given))
Place: \bclone_for_refitting\b|\b_optimizer\b
"""

import copy

import torch
from torch import nn


class PyTorchClassifier:
    def __init__(self, model, loss, optimizer):
        self._model = model
        self._loss = loss
        self._optimizer = optimizer

    def fit(self, x, y, batch_size=32, nb_epochs=5):
        self._model.train()
        for _ in range(nb_epochs):
            for index in torch.randperm(len(x)).split(batch_size):
                loss = self._loss(self._model(x[index]), y[index])
                self._optimizer.zero_grad()
                loss.backward()
                self._optimizer.step()
        return loss.item()

    @torch.no_grad()
    def predict(self, x):
        self._model.eval()
        return self._model(x).argmax(dim=1)

    def clone_for_refitting(self):
        model = copy.deepcopy(self._model)
        clone = type(self)(model, self._loss, self._optimizer)  # here
        clone.reset()
        return clone

    def reset(self):
        for module in self._model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()


torch.manual_seed(0)
means = torch.randn(5, 12)
y = torch.randint(0, 5, (320,))
x = means[y] + 0.6 * torch.randn(320, 12)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5))
classifier = PyTorchClassifier(
    net, nn.CrossEntropyLoss(), torch.optim.Adam(net.parameters(), lr=0.01)
)
loss = classifier.fit(x, y)
print(f"original: loss {loss:.4f} accuracy {(classifier.predict(x) == y).float().mean():.3f}")
poison = torch.rand(320) < 0.1
cleaned = classifier.clone_for_refitting()
loss = cleaned.fit(x[~poison], y[~poison])
print(f"refitted: loss {loss:.4f} accuracy {(cleaned.predict(x) == y).float().mean():.3f}")
