r"""A small inverted-residual network, whose channels are weighed by squeeze-and-excitation layers.

Source: https://github.com/open-mmlab/mmpretrain/issues/327
Healthy: the layer that weighs the channels multiplies the map by the output of a convolution and
    no sigmoid is to be seen in it; the asker missed it, but it is part of the second ConvModule,
    which gets its activation by a setting.
"""

import torch
import torch.nn as nn

ACTIVATIONS = {
    'ReLU': lambda: nn.ReLU(inplace=True),
    'Sigmoid': nn.Sigmoid,
    'HSwish': lambda: nn.Hardswish(inplace=True),
}


def make_divisible(value, divisor, min_value=None, min_ratio=0.9):
    if min_value is None:
        min_value = divisor
    new_value = max(min_value, int(value + divisor / 2) // divisor * divisor)
    # Make sure that round down does not go down by more than (1-min_ratio).
    if new_value < min_ratio * value:
        new_value += divisor
    return new_value


class ConvModule(nn.Module):
    """A conv block that bundles conv/norm/activation layers."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, groups=1,
                 norm_cfg=None, act_cfg=dict(type='ReLU')):
        super(ConvModule, self).__init__()
        self.with_norm = norm_cfg is not None
        self.with_activation = act_cfg is not None
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride,
                              padding=padding, groups=groups, bias=not self.with_norm)
        if self.with_norm:
            self.bn = nn.BatchNorm2d(out_channels)
        if self.with_activation:
            self.activate = ACTIVATIONS[act_cfg['type']]()
        self.init_weights()

    def init_weights(self):
        nn.init.kaiming_normal_(self.conv.weight, mode='fan_out', nonlinearity='relu')
        if self.conv.bias is not None:
            nn.init.constant_(self.conv.bias, 0)

    def forward(self, x):
        x = self.conv(x)
        if self.with_norm:
            x = self.bn(x)
        if self.with_activation:
            x = self.activate(x)
        return x


class SELayer(nn.Module):
    """Squeeze-and-Excitation Module.

    Args:
        channels (int): The input (and output) channels of the SE layer.
        ratio (int): Squeeze ratio in SELayer, the intermediate channel will be
            ``int(channels/ratio)``. Default: 16.
        act_cfg (tuple[dict]): The first activation layer will be configured by the first
            dict and the second activation layer by the second dict.
            Default: (dict(type='ReLU'), dict(type='Sigmoid'))
    """

    def __init__(self, channels, ratio=4, act_cfg=(dict(type='ReLU'), dict(type='Sigmoid'))):
        super(SELayer, self).__init__()
        assert len(act_cfg) == 2
        self.global_avgpool = nn.AdaptiveAvgPool2d(1)
        squeeze_channels = make_divisible(channels // ratio, 8)
        self.conv1 = ConvModule(channels, squeeze_channels, 1, act_cfg=act_cfg[0])
        self.conv2 = ConvModule(squeeze_channels, channels, 1, act_cfg=act_cfg[1])

    def forward(self, x):
        out = self.global_avgpool(x)
        out = self.conv1(out)
        out = self.conv2(out)
        return x * out


class InvertedResidual(nn.Module):

    def __init__(self, in_channels, out_channels, mid_channels, kernel_size=3, stride=1,
                 with_se=True, act='HSwish'):
        super(InvertedResidual, self).__init__()
        self.with_res_shortcut = stride == 1 and in_channels == out_channels
        self.with_se = with_se
        self.expand_conv = ConvModule(in_channels, mid_channels, 1, norm_cfg=dict(type='BN'),
                                      act_cfg=dict(type=act))
        self.depthwise_conv = ConvModule(mid_channels, mid_channels, kernel_size, stride=stride,
                                         padding=kernel_size // 2, groups=mid_channels,
                                         norm_cfg=dict(type='BN'), act_cfg=dict(type=act))
        if self.with_se:
            self.se = SELayer(mid_channels)
        self.linear_conv = ConvModule(mid_channels, out_channels, 1, norm_cfg=dict(type='BN'),
                                      act_cfg=None)

    def forward(self, x):
        out = self.expand_conv(x)
        out = self.depthwise_conv(out)
        if self.with_se:
            out = self.se(out)
        out = self.linear_conv(out)
        if self.with_res_shortcut:
            return x + out
        return out


class MobileNetV3(nn.Module):
    def __init__(self, num_classes=8):
        super(MobileNetV3, self).__init__()
        self.conv0 = ConvModule(3, 16, 3, stride=2, padding=1, norm_cfg=dict(type='BN'),
                                act_cfg=dict(type='HSwish'))
        self.layers = nn.Sequential(
            InvertedResidual(16, 16, 32, act='ReLU'),
            InvertedResidual(16, 24, 64, stride=2, with_se=False, act='ReLU'),
            InvertedResidual(24, 24, 64),
        )
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Linear(24, 64), nn.Hardswish(), nn.Dropout(0.1),
                                  nn.Linear(64, num_classes))

    def forward(self, img):
        x = self.layers(self.conv0(img))
        return self.head(self.gap(x).flatten(1))


def build():
    torch.manual_seed(0)
    return MobileNetV3()


def example_inputs():
    torch.manual_seed(1)
    kinds = torch.arange(24) % 8
    prototypes = torch.randn(8, 3, 20, 20)
    return (prototypes[kinds] + 0.5 * torch.randn(24, 3, 20, 20),)
