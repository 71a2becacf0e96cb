r"""Layers written by hand, as in a chapter of a textbook: a linear one and a centring one.

Source: https://github.com/d2l-ai/d2l-en/pull/2600
Fault: the layer computes with self.weight.data and self.bias.data; what it gives back hangs on no
    parameter, so that its weights get no gradient and only the layers of nn are trained.
Cause: \.data\b|detach
    |(weight|bias|parameter|linear)s?.*(no|without|None|never|not|zero).*(grad|train|learn)
    |(weight|bias|parameter|linear)s?.*(no|without|None|never|not|zero).*(update|graph|track)
    |(cut|break|bypass|outside|escape|leave)\w*.*(autograd|graph)
    |autograd.*(bypass|not|does not|cannot)
Place: MyLinear|weight|bias|linear|\.data|forward
"""
import torch
from torch import nn
from torch.nn import functional as F


class CenteredLayer(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, X):
        return X - X.mean(dim=1, keepdim=True)


class MyLinear(nn.Module):
    def __init__(self, in_units, units):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_units, units) * in_units ** -0.5)
        self.bias = nn.Parameter(torch.zeros(units,))

    def forward(self, X):
        linear = torch.matmul(X, self.weight.data) + self.bias.data  # here
        return F.relu(linear)


class MySequential(nn.Module):
    def __init__(self, *args):
        super().__init__()
        for idx, module in enumerate(args):
            self.add_module(str(idx), module)

    def forward(self, X):
        for module in self.children():
            X = module(X)
        return X


class NestMLP(nn.Module):
    def __init__(self, num_inputs, num_hiddens):
        super().__init__()
        self.net = MySequential(
            MyLinear(num_inputs, 2 * num_hiddens),
            CenteredLayer(),
            MyLinear(2 * num_hiddens, num_hiddens),
        )
        self.norm = nn.LayerNorm(num_hiddens)

    def forward(self, X):
        return self.norm(self.net(X))


class Classifier(nn.Module):
    """The base class of classification models."""

    def loss(self, Y_hat, Y, averaged=True):
        Y_hat = Y_hat.reshape(-1, Y_hat.shape[-1])
        Y = Y.reshape(-1,)
        return F.cross_entropy(Y_hat, Y, reduction='mean' if averaged else 'none')

    def accuracy(self, X, Y, averaged=True):
        """Compute the number of correct predictions."""
        Y_hat = self.net(X)
        preds = Y_hat.argmax(dim=1).type(Y.dtype)
        compare = (preds == Y.reshape(-1)).float()
        return compare.mean() if averaged else compare

    def forward(self, X, Y):
        return self.loss(self.net(X), Y)


class HandMadeMLP(Classifier):
    def __init__(self, num_inputs, num_outputs, num_hiddens, lr):
        super().__init__()
        self.lr = lr
        self.net = MySequential(
            nn.Flatten(),
            NestMLP(num_inputs, num_hiddens),
            nn.Linear(num_hiddens, num_outputs),
        )

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.lr)


def get_clothes(n=64, size=8, seed=0):
    g = torch.Generator().manual_seed(17)
    parts = torch.randn(10, 2, size * size, generator=g)
    g = torch.Generator().manual_seed(seed)
    Y = torch.randint(0, 10, (n,), generator=g)
    sign = torch.randint(0, 2, (n, 2, 1), generator=g).float() * 2 - 1
    X = (parts[Y] * sign).sum(dim=1) + 0.7 * torch.randn(n, size * size, generator=g)
    return X.view(n, 1, size, size), Y


def build():
    torch.manual_seed(0)
    return HandMadeMLP(num_inputs=64, num_outputs=10, num_hiddens=24, lr=0.1)


def example_inputs():
    return get_clothes(32)
