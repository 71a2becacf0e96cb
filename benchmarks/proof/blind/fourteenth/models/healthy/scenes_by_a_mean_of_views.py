r"""A residual network with its own activated norm and a global pooling written with a view.

Source: https://github.com/mapillary/inplace_abn/issues/178
Healthy: the pooling flattens each map and takes the mean over dimension 2; the asker thought this
    was the wrong axis in front of a layer of channels, but after the view dimension 2 are the
    places and what is left are the channels.
"""

from collections import OrderedDict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as functional


class ABN(nn.Module):
    """Activated Batch Normalization

    This gathers a BatchNorm and an activation function in a single module
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, activation="leaky_relu",
                 activation_param=0.01):
        super(ABN, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.activation = activation
        self.activation_param = activation_param
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer('running_mean', torch.zeros(num_features))
        self.register_buffer('running_var', torch.ones(num_features))

    def forward(self, x):
        x = functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                                  self.training, self.momentum, self.eps)
        if self.activation == "leaky_relu":
            return functional.leaky_relu(x, negative_slope=self.activation_param, inplace=True)
        return x


class GlobalAvgPool2d(nn.Module):
    """Global average pooling over the input's spatial dimensions"""

    def __init__(self):
        super(GlobalAvgPool2d, self).__init__()

    def forward(self, inputs):
        in_size = inputs.size()
        return inputs.view((in_size[0], in_size[1], -1)).mean(dim=2)


class IdentityResidualBlock(nn.Module):
    """Identity-mapping residual block"""

    def __init__(self, in_channels, channels, stride=1, norm_act=ABN, dropout=None):
        super(IdentityResidualBlock, self).__init__()
        need_proj_conv = stride != 1 or in_channels != channels[-1]

        self.bn1 = norm_act(in_channels)
        layers = [
            ("conv1", nn.Conv2d(in_channels, channels[0], 3, stride=stride, padding=1,
                                bias=False)),
            ("bn2", norm_act(channels[0])),
            ("conv2", nn.Conv2d(channels[0], channels[1], 3, stride=1, padding=1, bias=False))
        ]
        if dropout is not None:
            layers = layers[0:2] + [("dropout", dropout())] + layers[2:]
        self.convs = nn.Sequential(OrderedDict(layers))

        if need_proj_conv:
            self.proj_conv = nn.Conv2d(in_channels, channels[-1], 1, stride=stride, bias=False)

    def forward(self, x):
        if hasattr(self, "proj_conv"):
            bn1 = self.bn1(x)
            shortcut = self.proj_conv(bn1)
        else:
            shortcut = x.clone()
            bn1 = self.bn1(x)

        out = self.convs(bn1)
        out.add_(shortcut)

        return out


class WiderResNet(nn.Module):
    def __init__(self, structure=(1, 1, 1), classes=8):
        super(WiderResNet, self).__init__()
        self.mod1 = nn.Sequential(OrderedDict([
            ("conv1", nn.Conv2d(3, 16, 3, stride=1, padding=1, bias=False))
        ]))

        # Groups of residual blocks
        in_channels = 16
        channels = [(16, 16), (32, 32), (48, 48)]
        for mod_id, num in enumerate(structure):
            blocks = []
            for block_id in range(num):
                blocks.append((
                    "block%d" % (block_id + 1),
                    IdentityResidualBlock(in_channels, channels[mod_id],
                                          dropout=partial(nn.Dropout2d, p=0.1)
                                          if mod_id == 2 else None)
                ))
                in_channels = channels[mod_id][-1]

            # Create module
            if mod_id <= 2:
                self.add_module("pool%d" % (mod_id + 2),
                                nn.MaxPool2d(3, stride=2, padding=1))
            self.add_module("mod%d" % (mod_id + 2), nn.Sequential(OrderedDict(blocks)))

        # Pooling and predictor
        self.bn_out = ABN(in_channels)
        self.classifier = nn.Sequential(OrderedDict([
            ("avg_pool", GlobalAvgPool2d()),
            ("fc", nn.Linear(in_channels, classes))
        ]))

    def forward(self, img):
        out = self.mod1(img)
        out = self.mod2(self.pool2(out))
        out = self.mod3(self.pool3(out))
        out = self.mod4(self.pool4(out))
        out = self.bn_out(out)
        return self.classifier(out)


def build():
    torch.manual_seed(0)
    return WiderResNet()


def example_inputs():
    torch.manual_seed(1)
    kinds = torch.arange(16) % 8
    prototypes = torch.randn(8, 3, 24, 24)
    return (prototypes[kinds] + 0.4 * torch.randn(16, 3, 24, 24),)
