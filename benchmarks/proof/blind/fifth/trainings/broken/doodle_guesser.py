r"""Guesser of doodles: trained on stored drawings, then asked about drawings of a user.

Source: https://github.com/CodingTrain/Toy-Neural-Network-JS/pull/57
Fault: Training divides the pixels by 255, but the drawing of the user is passed with raw pixels.
Cause: 255|raw pixels|(not|un)\W?(scaled|normali[sz]ed)
    |(scal|normali[sz]|preprocess)\w* .*(differ|not|only|train|predict|same)
    |(range|scale) .*(differ|input|predict|test)
Place: \bcanvas\b|\bguess\(
"""

import torch
from torch import nn


class NeuralNetwork(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.output(torch.sigmoid(self.hidden(x)))


NAMES = ["cat", "train", "clock", "cloud", "smoke"]
torch.manual_seed(4)
strokes = torch.rand(3, 100)[[0, 1, 2, 1, 2]] < 0.25
pressure = torch.tensor([200, 200, 200, 70, 70])


def drawings(count):
    label = torch.randint(0, len(NAMES), (count,))
    wrong = torch.rand(count, 100) < 0.2
    ink = (strokes[label] ^ wrong) * (pressure[label][:, None] + torch.randint(-30, 31, (count, 1)))
    return ink.byte(), label


def train_epoch(network, optimizer, data, label):
    for batch in torch.randperm(len(data)).split(50):
        inputs = data[batch].float() / 255.0
        loss = nn.functional.cross_entropy(network(inputs), label[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def guess(network, canvas):
    inputs = canvas.float()  # here
    with torch.no_grad():
        return network(inputs).argmax(dim=1)


data, label = drawings(500)
network = NeuralNetwork(100, 24, len(NAMES))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for epoch in range(6):
    loss = train_epoch(network, optimizer, data, label)
canvas, truth = drawings(400)
right = (guess(network, canvas) == truth).float().mean().item()
print(f"loss {loss:.4f}, right guesses of what the user draws {right:.3f}")
