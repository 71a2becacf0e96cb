r"""Denoising autoencoder for implicit feedback with selectable activations.

Source: https://github.com/RUCAIBox/RecBole/issues/680
Fault: The option "relu" for the output gives a sigmoid, so BCE on its logits squashes twice.
Cause: sigmoid.*(twice|double|logits|instead|before|already)|relu.*sigmoid|double sigmoid
Place: o_act|Sigmoid|CDAE|forward
"""

import torch
from torch import nn


class CDAE(nn.Module):
    def __init__(self, n_users=20, n_items=30, hidden=12, out_activation="relu"):
        super().__init__()
        self.h_user = nn.Embedding(n_users, hidden)
        self.h_item = nn.Linear(n_items, hidden)
        self.out_layer = nn.Linear(hidden, n_items)
        self.h_act = nn.Tanh()
        if out_activation == "relu":
            self.o_act = nn.Sigmoid()  # here
        else:
            self.o_act = nn.Identity()

    def forward(self, user, history):
        h = self.h_act(self.h_item(history) + self.h_user(user))
        scores = self.o_act(self.out_layer(h))
        return nn.functional.binary_cross_entropy_with_logits(scores, history)


def build():
    return CDAE()


def example_inputs():
    return torch.randint(0, 20, (6,)), (torch.rand(6, 30) < 0.2).float()
