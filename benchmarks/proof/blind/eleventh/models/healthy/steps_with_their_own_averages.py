r"""Recurrent batch normalisation: an LSTM with batch norms that keep averages per time step.

Source: https://github.com/jihunchoi/recurrent-batch-normalization-pytorch/issues/1
Healthy: each time step has its own running averages, in buffers of its own, and the gains start at
    0.1; one batch norm is called many times in a forward, but each time with another pair of
    buffers. Evaluation uses the averages of the same step.
"""
import torch
from torch import nn
import torch.nn.functional as functional


class SeparatedBatchNorm1d(nn.Module):
    """
    A batch normalization module which keeps its running mean
    and variance separately per timestep.
    """

    def __init__(self, num_features, max_length, eps=1e-5, momentum=0.1, affine=True):
        super(SeparatedBatchNorm1d, self).__init__()
        self.num_features = num_features
        self.max_length = max_length
        self.affine = affine
        self.eps = eps
        self.momentum = momentum
        if self.affine:
            self.weight = nn.Parameter(torch.empty(num_features))
            self.bias = nn.Parameter(torch.empty(num_features))
        else:
            self.register_parameter('weight', None)
            self.register_parameter('bias', None)
        for i in range(max_length):
            self.register_buffer('running_mean_{}'.format(i), torch.zeros(num_features))
            self.register_buffer('running_var_{}'.format(i), torch.ones(num_features))
        self.reset_parameters()

    def reset_parameters(self):
        if self.affine:
            self.weight.data.fill_(0.1)
            self.bias.data.zero_()

    def forward(self, input_, time):
        if time >= self.max_length:
            time = self.max_length - 1
        running_mean = getattr(self, 'running_mean_{}'.format(time))
        running_var = getattr(self, 'running_var_{}'.format(time))
        return functional.batch_norm(
            input=input_, running_mean=running_mean, running_var=running_var,
            weight=self.weight, bias=self.bias, training=self.training,
            momentum=self.momentum, eps=self.eps)


class BNLSTMCell(nn.Module):
    """A BN-LSTM cell."""

    def __init__(self, input_size, hidden_size, max_length):
        super(BNLSTMCell, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.empty(input_size, 4 * hidden_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, 4 * hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))
        self.bn_ih = SeparatedBatchNorm1d(4 * hidden_size, max_length)
        self.bn_hh = SeparatedBatchNorm1d(4 * hidden_size, max_length)
        self.bn_c = SeparatedBatchNorm1d(hidden_size, max_length)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.orthogonal_(self.weight_ih.data)
        weight_hh_data = torch.eye(self.hidden_size).repeat(1, 4)
        self.weight_hh.data.copy_(weight_hh_data)
        nn.init.constant_(self.bias.data, val=0)
        self.bn_ih.bias.data.zero_()
        self.bn_hh.bias.data.zero_()
        self.bn_ih.bias.requires_grad_(False)
        self.bn_hh.bias.requires_grad_(False)

    def forward(self, input_, hx, time):
        h_0, c_0 = hx
        bn_wh = self.bn_hh(torch.mm(h_0, self.weight_hh), time=time)
        bn_wi = self.bn_ih(torch.mm(input_, self.weight_ih), time=time)
        f, i, o, g = torch.split(bn_wh + bn_wi + self.bias, self.hidden_size, dim=1)
        c_1 = torch.sigmoid(f) * c_0 + torch.sigmoid(i) * torch.tanh(g)
        h_1 = torch.sigmoid(o) * torch.tanh(self.bn_c(c_1, time=time))
        return h_1, c_1


class PixelModel(nn.Module):
    def __init__(self, input_size=4, hidden_size=24, max_length=16, classes=4):
        super(PixelModel, self).__init__()
        self.hidden_size = hidden_size
        self.cell = BNLSTMCell(input_size, hidden_size, max_length)
        self.fc = nn.Linear(hidden_size, classes)

    def forward(self, input_):
        # input_ is (time, batch, size)
        h = 0.1 * torch.ones(input_.size(1), self.hidden_size)
        h = h + 0.01 * input_[0].mean(dim=1, keepdim=True)
        state = (h, torch.zeros_like(h))
        for time in range(input_.size(0)):
            state = self.cell(input_[time], state, time)
        return self.fc(state[0])


def make_rows(n=64, length=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(length).float().view(length, 1, 1)
    speed = (0.3 + 0.35 * y.float()).view(1, n, 1)
    phase = 6.28 * torch.rand(1, n, 1, generator=g) + torch.arange(4).view(1, 1, 4) * 0.8
    x = torch.sin(speed * t + phase) + 0.3 * torch.randn(length, n, 4, generator=g)
    return x, y


def build():
    torch.manual_seed(0)
    return PixelModel()


def example_inputs():
    return (make_rows(32)[0],)
