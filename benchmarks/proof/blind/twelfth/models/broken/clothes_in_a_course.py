r"""The second computer vision model of a course: flatten, linear, relu, linear, relu for clothes.

Source: https://github.com/mrdbourke/pytorch-deep-learning/issues/720
Fault: There is a ReLU after the last linear layer, so no logit can be below zero; where all logits
    of a class are cut off it gets no gradient, and the loss can't get as low as without it.
Cause: relu.{0,120}(last|final|output|end|logit|after|class)|(last|final|output
    |logits?)\b.{0,80}relu
    |logits? .{0,80}(negative|below zero|non-?negative|clipped|clamped|cut)
    |(negative|below zero).{0,60}logit|activation .{0,40}(output|last|final|logit)
Place: layer_stack|relu|4
"""

import torch
from torch import nn

class_names = ['T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker',
               'Bag', 'Ankle boot']


# Create a model with non-linear and linear layers
class FashionMNISTModelV1(nn.Module):
    def __init__(self, input_shape: int, hidden_units: int, output_shape: int):
        super().__init__()
        self.layer_stack = nn.Sequential(
            nn.Flatten(),  # flatten inputs into single vector
            nn.Linear(in_features=input_shape, out_features=hidden_units),
            nn.ReLU(),
            nn.Linear(in_features=hidden_units, out_features=output_shape),
            nn.ReLU()  # here
        )

    def forward(self, x: torch.Tensor):
        return self.layer_stack(x)


def accuracy_fn(y_true, y_pred):
    correct = torch.eq(y_true, y_pred).sum().item()
    acc = (correct / len(y_pred)) * 100
    return acc


def build():
    torch.manual_seed(42)
    return FashionMNISTModelV1(input_shape=784,  # number of input features
                               hidden_units=10,
                               output_shape=len(class_names))


def example_inputs():
    torch.manual_seed(1)
    return (torch.rand(32, 1, 28, 28),)
