r"""Classifier of handwritten digits, trained with the cross entropy of its scores.

Source: https://whosebug.com/question/5667031/pytorch-MNIST-neural-network-produces-several-non-zero-outputs
Fault: A ReLU after the last layer cuts the negative scores of the classes.
Cause: relu.{0,60}(last|final|output|end|logit|score|head)
    |(last|final|output|logit|score)\w*.{0,60}(relu|non-?negative|cut|clip|never negative|positive)
Place: act_out
"""

from collections import OrderedDict

import torch
from torch import nn


def build():
    return nn.Sequential(
        OrderedDict(
            hidden=nn.Linear(784, 64),
            act=nn.ReLU(),
            scores=nn.Linear(64, 10),
            act_out=nn.ReLU(),  # here
        )
    )


def example_inputs():
    torch.manual_seed(4)
    digits = torch.zeros(32, 28, 28)
    digits[:, 6:22, 9:19] = torch.rand(32, 16, 10)
    return digits.flatten(1)
