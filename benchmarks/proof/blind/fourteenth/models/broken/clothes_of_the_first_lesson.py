r"""The network of the first lessons of the official course, that sorts pictures of clothes.

Source: https://github.com/pytorch/tutorials/issues/1526
Fault: the stack of layers ends with a ReLU behind the last linear layer, so that the logits cannot
    be negative; a class whose score falls below zero gets no gradient any more.
Cause: relu.{0,100}(last|final|end|output|logit|after|behind|negativ|score|class|cross.?entropy)
    |(last|final|end|output|logit|score).{0,100}(relu|non.?negative|negativ|clipped|clamp
    |cut (off )?at zero|rectif|activation)
Place: linear_relu_stack|relu
"""

import torch
from torch import nn

classes = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
]


# Define model
class NeuralNetwork(nn.Module):
    def __init__(self):
        super(NeuralNetwork, self).__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28*28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
            nn.ReLU()  # here
        )
        self.loss_fn = nn.CrossEntropyLoss()

    def forward(self, x, y):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return self.loss_fn(logits, y)


def build():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"Using {device} device")
    model = NeuralNetwork().to(device)
    print(model)
    return model


def example_inputs():
    torch.manual_seed(1)
    y = torch.arange(40) % len(classes)
    prototypes = torch.rand(len(classes), 1, 28, 28)
    X = prototypes[y] + 0.2 * torch.randn(40, 1, 28, 28)
    return X.clamp(0, 1), y
