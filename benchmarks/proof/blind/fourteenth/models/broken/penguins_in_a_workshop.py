r"""The classifier of penguins of a two-day workshop: a few layers on four measures of a bird.

Source: https://github.com/Cambridge-ICCS/practical-ml-with-pytorch/issues/43
Fault: the worked solution has no activation function between its linear layers; all of them
    together are one linear map and cannot bend the border between species.
Cause: (no|without|missing|lack|forgot|absent|never).{0,40}(activation|non.?linear|relu)
    |(activation|non.?linear|relu).{0,60}(missing|absent|lack|removed|forgotten|between|needed)
    |(linear|layers?).{0,80}(collapse|one (single )?linear|single (linear|affine)|equivalent
    |compose|fold|merge|after (each|one) other|in a row|stacked)
    |(purely|only|just|entirely|whole.{0,20}) ?(linear|affine)
Place: _fwd|fwd|Linear|layers|Sequential
"""

from typing import List

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Sequential


class FCNet(Module):
    """Fully-connected neural network.

    Parameters
    ----------
    in_feats : int
        The number of input features the model should accept.
    out_feats : int
        The number of features the model should predict.
    hidden_sizes : list
        The width of the hidden layers.
    drop_prob : float
        The chance of a feature to be dropped.

    """

    def __init__(self, in_feats: int, out_feats: int, hidden_sizes: List[int],
                 drop_prob: float = 0.1):
        """Build ``FCNet``."""
        super().__init__()

        if len(hidden_sizes) < 1:
            raise ValueError("Need at least one hidden layer.")

        layers = [BatchNorm1d(in_feats)]
        sizes = [in_feats] + list(hidden_sizes)
        for size_in, size_out in zip(sizes[:-1], sizes[1:]):
            layers.append(Linear(in_features=size_in, out_features=size_out))  # here
            layers.append(Dropout(p=drop_prob))
        layers.append(Linear(in_features=sizes[-1], out_features=out_feats))

        self._fwd = Sequential(*layers)

    def forward(self, batch: Tensor) -> Tensor:
        """Pass ``batch`` through the model.

        Parameters
        ----------
        batch : Tensor
            A mini-batch of inputs.

        Returns
        -------
        Tensor
            The result of passing ``batch`` through the model.

        """
        return self._fwd(batch)


def penguin_targets() -> List[str]:
    return ["Adelie", "Gentoo", "Chinstrap"]


def build() -> Module:
    torch.manual_seed(0)
    return FCNet(in_feats=4, out_feats=len(penguin_targets()), hidden_sizes=[16, 16])


def example_inputs():
    torch.manual_seed(1)
    bill = 44 + 5 * torch.randn(48, 1)
    depth = 17 + 2 * torch.randn(48, 1)
    flipper = 200 + 14 * torch.randn(48, 1)
    mass = 4200 + 800 * torch.randn(48, 1)
    return (torch.cat([bill, depth, flipper, mass], 1),)
