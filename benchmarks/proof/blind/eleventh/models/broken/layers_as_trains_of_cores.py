r"""A classifier with linear layers that are kept as a tensor train of small cores.

Source: https://github.com/KhrulkovV/tt-pytorch/issues/4
Fault: forward uses weight_t, which is a transposed copy made once in the constructor and no
    parameter; the parameters in weight are never used, and the layer stays as it was drawn.
Cause: weight_t|transposed.*(copy|not (a |registered|parameter)|tensor|frozen|constant)
    |(copy|clone|detach|snapshot).*(weight|core|parameter)
    |(core|weight|parameter|layer)s?.*(copy|detach|unused|never used|not used|not registered)
    |(core|weight|parameter|layer)s?.*(no gradient|not trained|no effect|frozen|not reach|constant)
    |(unused|never used|not used|not registered|plain tensor|no parameter|not a parameter)
Place: weight_t|weight|cores|transpose|TTLinear|parameters|fc1|fc2
"""
import math

import torch
import torch.nn as nn


class TensorTrain(object):
    def __init__(self, tt_cores, shape, tt_ranks):
        self.tt_cores = list(tt_cores)
        self.shape = shape
        self.ranks = tt_ranks
        self.parameter = None

    def to_parameter(self):
        new_cores = [nn.Parameter(core) for core in self.tt_cores]
        tt = TensorTrain(new_cores, self.shape, self.ranks)
        tt.parameter = nn.ParameterList(new_cores)
        return tt

    def full(self):
        res = self.tt_cores[0]
        for core in self.tt_cores[1:]:
            # (r0, m, n, r1) x (r1, p, q, r2)
            res = torch.einsum('amnb,bpqc->ampnqc', res, core)
            a, m, p, n, q, c = res.shape
            res = res.reshape(a, m * p, n * q, c)
        return res[0, :, :, 0]


def transpose(tt_matrix):
    cores = [core.detach().permute(0, 2, 1, 3).clone() for core in tt_matrix.tt_cores]  # here
    return TensorTrain(cores, (tt_matrix.shape[1], tt_matrix.shape[0]), tt_matrix.ranks)


def glorot_initializer(shape, tt_rank=4):
    n_in, n_out = math.prod(shape[0]), math.prod(shape[1])
    d = len(shape[0])
    ranks = [1] + [tt_rank] * (d - 1) + [1]
    lamb = 2.0 / (n_in + n_out)
    cr_exp = -1.0 / (2 * d)
    var = math.prod([r ** cr_exp for r in ranks])
    core_stddev = lamb ** (1.0 / (2 * d)) * var
    cores = [core_stddev * torch.randn(ranks[i], shape[0][i], shape[1][i], ranks[i + 1])
             for i in range(d)]
    return TensorTrain(cores, shape, ranks)


class TTLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True, shape=None, tt_rank=4):
        super(TTLinear, self).__init__()
        assert math.prod(shape[0]) == in_features
        assert math.prod(shape[1]) == out_features
        init = glorot_initializer(shape, tt_rank=tt_rank)

        self.shape = shape
        self.weight = init.to_parameter()
        self.weight_parameter = self.weight.parameter
        self.weight_t = transpose(self.weight)

        if bias:
            self.bias = nn.Parameter(1e-2 * torch.ones(out_features))
        else:
            self.register_parameter('bias', None)

    def forward(self, x):
        weight_t = self.weight_t.full()
        out = (weight_t @ x.t()).t()
        if self.bias is not None:
            out = out + self.bias
        return out


class Net(nn.Module):
    def __init__(self, rank=4, classes=6):
        super(Net, self).__init__()
        self.fc1 = TTLinear(64, 48, shape=[[4, 4, 4], [4, 4, 3]], tt_rank=rank)
        self.fc2 = TTLinear(48, 27, shape=[[4, 4, 3], [3, 3, 3]], tt_rank=rank)
        self.fc3 = nn.Linear(27, classes)

    def forward(self, x):
        x = x.view(x.size(0), -1)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


PROTOTYPES = torch.randn(12, 64, generator=torch.Generator().manual_seed(11))


def make_glyphs(n=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 12, (n,), generator=g)
    x = PROTOTYPES[kind] + 0.8 * torch.randn(n, 64, generator=g)
    return x.view(n, 1, 8, 8), kind % 6


def build():
    torch.manual_seed(0)
    return Net()


def example_inputs():
    return (make_glyphs(16)[0],)
