r"""A deep autoencoder of the ratings of users with a squared error over the given ones.

Source: https://github.com/NVIDIA/DeepRecommender/pull/4
Fault: the decoder is meant to leave its last layer linear, but the index it compares with is one
    too high, as there is one weight less than there are sizes; the sigmoid is applied to the
    output too, which then stays between 0 and 1 while the ratings go from 1 to 5.
Cause: (last|final|output|decod).{0,100}(activation|sigmoid|non.?linear|squash|bounded|\brange\b
    |between 0 and 1|0\.\.1|confin)|(activation|sigmoid|non.?linear|squash|\brange\b|bounded
    |saturat).{0,100}(last|final|output|decod|prediction|target|rating)|_last|off.?by.?one
Place: _last|decode|_nl_type|activation|AutoEncoder
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as weight_init
from torch.autograd import Variable


def activation(input, kind):
    if kind == 'selu':
        return F.selu(input)
    elif kind == 'relu':
        return F.relu(input)
    elif kind == 'relu6':
        return F.relu6(input)
    elif kind == 'sigmoid':
        return torch.sigmoid(input)
    elif kind == 'tanh':
        return torch.tanh(input)
    elif kind == 'elu':
        return F.elu(input)
    elif kind == 'lrelu':
        return F.leaky_relu(input)
    elif kind == 'none':
        return input
    else:
        raise ValueError('Unknown non-linearity type')


def MSEloss(inputs, targets, size_avarage=False):
    mask = targets != 0
    num_ratings = torch.sum(mask.float())
    criterion = nn.MSELoss(reduction='sum' if not size_avarage else 'mean')
    return criterion(inputs * mask.float(), targets), \
        Variable(torch.Tensor([1.0])) if size_avarage else num_ratings


class AutoEncoder(nn.Module):
    def __init__(self, layer_sizes, nl_type='selu', is_constrained=False, dp_drop_prob=0.0):
        """
        Describes an AutoEncoder model
        :param layer_sizes: Encoder network description. Should start with feature size
        (e.g. dimensionality of x).
        For example: [10000, 1024, 512] will result in:
          - encoder 2 layers: 10000x1024 and 1024x512. Representation layer (z) will be 512
          - decoder 2 layers: 512x1024 and 1024x10000.
        :param nl_type: (default 'selu') Type of no-linearity
        :param is_constrained: (default: False) Should constrain decoder weights
        :param dp_drop_prob: (default: 0.0) Dropout drop probability
        """
        super(AutoEncoder, self).__init__()
        self._dp_drop_prob = dp_drop_prob
        self._last = len(layer_sizes) - 1  # here
        self._nl_type = nl_type
        if dp_drop_prob > 0:
            self.drop = nn.Dropout(dp_drop_prob)

        self.encode_w = nn.ParameterList(
            [nn.Parameter(torch.rand(layer_sizes[i + 1], layer_sizes[i]))
             for i in range(len(layer_sizes) - 1)])
        for ind, w in enumerate(self.encode_w):
            weight_init.xavier_uniform_(w)

        self.encode_b = nn.ParameterList(
            [nn.Parameter(torch.zeros(layer_sizes[i + 1])) for i in range(len(layer_sizes) - 1)])

        reversed_enc_layers = list(reversed(layer_sizes))

        self.is_constrained = is_constrained
        if not is_constrained:
            self.decode_w = nn.ParameterList(
                [nn.Parameter(torch.rand(reversed_enc_layers[i + 1], reversed_enc_layers[i]))
                 for i in range(len(reversed_enc_layers) - 1)])
            for ind, w in enumerate(self.decode_w):
                weight_init.xavier_uniform_(w)
        self.decode_b = nn.ParameterList(
            [nn.Parameter(torch.zeros(reversed_enc_layers[i + 1]))
             for i in range(len(reversed_enc_layers) - 1)])

    def encode(self, x):
        for ind, w in enumerate(self.encode_w):
            x = activation(input=F.linear(input=x, weight=w, bias=self.encode_b[ind]),
                           kind=self._nl_type)
        if self._dp_drop_prob > 0:  # apply dropout only on code layer
            x = self.drop(x)
        return x

    def decode(self, z):
        if self.is_constrained:
            for ind, w in enumerate(list(reversed(self.encode_w))):  # constrained autoencode
                z = activation(input=F.linear(input=z, weight=w.transpose(0, 1),
                                              bias=self.decode_b[ind]),
                               kind=self._nl_type if ind != self._last else 'none')
        else:
            for ind, w in enumerate(self.decode_w):
                z = activation(input=F.linear(input=z, weight=w, bias=self.decode_b[ind]),
                               kind=self._nl_type if ind != self._last else 'none')
        return z

    def forward(self, x):
        outputs = self.decode(self.encode(x))
        loss, num_ratings = MSEloss(outputs, x)
        return loss / num_ratings


def build():
    torch.manual_seed(0)
    return AutoEncoder([120, 48, 24], nl_type='sigmoid', dp_drop_prob=0.2)


def example_inputs():
    torch.manual_seed(1)
    users, items = torch.randn(40, 3), torch.randn(120, 3)
    ratings = (3 + users @ items.t()).round().clamp(1, 5)
    seen = (torch.rand(40, 120) < 0.3).float()
    return (ratings * seen,)
