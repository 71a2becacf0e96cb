r"""Kinds of movement from three axes of acceleration, with a list of generated models.

Source: https://github.com/NLeSC/mcfly/issues/43
Fault: One of the settings has a learning rate that is far too high for Adam, and its training
    stands still at the loss of guessing.
Cause: learning.?rate|\blr\b|step size|(update|step)s?\b.{0,50}(too )?(large|big|huge)|dead (relu
    |unit|neuron)|(relu|unit|neuron)s?\b.{0,30}\bdead\b
Place: learning_rate|\blr\b
"""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(71)
KINDS, STEPS = 5, 48


def recordings(count):
    kind = torch.randint(0, KINDS, (count,))
    t = torch.arange(STEPS) / STEPS
    rate = (2 + 1.5 * kind)[:, None, None] * (0.9 + 0.2 * torch.rand(count, 1, 1))
    phase = 2 * math.pi * torch.rand(count, 3, 1)
    tilt = 0.5 + torch.rand(count, 3, 1)
    signal = tilt * torch.sin(2 * math.pi * rate * t + phase)
    return TensorDataset(signal + 0.4 * torch.randn_like(signal), kind)


def generate_cnn_model(filters, fc_hidden_nodes):
    layers, channels = [nn.BatchNorm1d(3)], 3
    for width in filters:
        layers += [nn.Conv1d(channels, width, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2)]
        channels = width
    size = channels * (STEPS // 2 ** len(filters))
    layers += [nn.Flatten(), nn.Linear(size, fc_hidden_nodes), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(fc_hidden_nodes, KINDS))


def train_models_on_samples(settings, train_set, valid_set, nr_epochs=6):
    for number, setting in enumerate(settings):
        model = generate_cnn_model(setting["filters"], setting["fc_hidden_nodes"])
        optimizer = torch.optim.Adam(model.parameters(), lr=setting["learning_rate"])
        loader = DataLoader(train_set, batch_size=32, shuffle=True)
        for epoch in range(nr_epochs):
            model.train()
            total = 0.0
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() / len(loader)
        model.eval()
        x, y = next(iter(DataLoader(valid_set, batch_size=len(valid_set))))
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        print(f"model {number}: last loss {total:.3f} validation accuracy {accuracy:.3f}")


settings = [
    {"filters": [16, 24], "fc_hidden_nodes": 48, "learning_rate": 0.3},  # here
]
train_models_on_samples(settings, recordings(960), recordings(400))
