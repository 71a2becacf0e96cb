r"""A U-Net out of DownConv and UpConv modules, that labels the pixels of small pictures.

Source: https://github.com/jaxony/unet-pytorch/pull/2
Fault: the forward pass ends with a softmax over the classes and the result goes into a cross
    entropy, which takes raw scores and applies a log-softmax itself; the gradients are small and
    the loss cannot come near to zero.
Cause: softmax.{0,100}(cross.?entropy|twice|two times|double|already|itself|again|logits|raw|before
    |loss)
    |(cross.?entropy|loss).{0,100}(softmax|probabilit|logits|raw)
    |(twice|double|second|extra|redundant).{0,30}softmax
Place: softmax|forward|conv_final|cross_entropy|UNet
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import init


def conv3x3(in_channels, out_channels, stride=1, padding=1, bias=True, groups=1):
    return nn.Conv2d(
        in_channels,
        out_channels,
        kernel_size=3,
        stride=stride,
        padding=padding,
        bias=bias,
        groups=groups)


def upconv2x2(in_channels, out_channels):
    return nn.ConvTranspose2d(in_channels, out_channels, kernel_size=2, stride=2)


def conv1x1(in_channels, out_channels, groups=1):
    return nn.Conv2d(in_channels, out_channels, kernel_size=1, groups=groups, stride=1)


class DownConv(nn.Module):
    """
    A helper Module that performs 2 convolutions and 1 MaxPool.
    A ReLU activation follows each convolution.
    """

    def __init__(self, in_channels, out_channels, pooling=True):
        super(DownConv, self).__init__()
        self.pooling = pooling
        self.conv1 = conv3x3(in_channels, out_channels)
        self.conv2 = conv3x3(out_channels, out_channels)

        if self.pooling:
            self.pool = nn.MaxPool2d(kernel_size=2, stride=2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        before_pool = x
        if self.pooling:
            x = self.pool(x)
        return x, before_pool


class UpConv(nn.Module):
    """
    A helper Module that performs 2 convolutions and 1 UpConvolution.
    A ReLU activation follows each convolution.
    """

    def __init__(self, in_channels, out_channels):
        super(UpConv, self).__init__()
        self.upconv = upconv2x2(in_channels, out_channels)
        self.conv1 = conv3x3(2 * out_channels, out_channels)
        self.conv2 = conv3x3(out_channels, out_channels)

    def forward(self, from_down, from_up):
        """ Forward pass
        Arguments:
            from_down: tensor from the encoder pathway
            from_up: upconv'd tensor from the decoder pathway
        """
        from_up = self.upconv(from_up)
        x = torch.cat((from_up, from_down), 1)
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return x


class UNet(nn.Module):
    """ `UNet` class is based on https://arxiv.org/abs/1505.04597 """

    def __init__(self, num_classes, in_channels=3, depth=3, start_filts=16):
        super(UNet, self).__init__()
        self.num_classes = num_classes
        down_convs = []
        up_convs = []

        # create the encoder pathway and add to a list
        for i in range(depth):
            ins = in_channels if i == 0 else outs
            outs = start_filts * (2 ** i)
            pooling = True if i < depth - 1 else False
            down_convs.append(DownConv(ins, outs, pooling=pooling))

        # - careful! decoding only requires depth-1 blocks
        for i in range(depth - 1):
            ins = outs
            outs = ins // 2
            up_convs.append(UpConv(ins, outs))

        self.conv_final = conv1x1(outs, self.num_classes)

        # add the list of modules to current module
        self.down_convs = nn.ModuleList(down_convs)
        self.up_convs = nn.ModuleList(up_convs)

        self.reset_params()

    @staticmethod
    def weight_init(m):
        if isinstance(m, nn.Conv2d):
            init.xavier_normal_(m.weight)
            init.constant_(m.bias, 0)

    def reset_params(self):
        for i, m in enumerate(self.modules()):
            self.weight_init(m)

    def forward(self, x, target):
        encoder_outs = []

        # encoder pathway, save outputs for merging
        for i, module in enumerate(self.down_convs):
            x, before_pool = module(x)
            encoder_outs.append(before_pool)

        for i, module in enumerate(self.up_convs):
            before_pool = encoder_outs[-(i + 2)]
            x = module(before_pool, x)

        x = self.conv_final(x)
        x = F.softmax(x, dim=1)  # here

        return F.cross_entropy(x, target)


def build():
    torch.manual_seed(0)
    return UNet(4)


def example_inputs():
    torch.manual_seed(1)
    x = 0.2 * torch.randn(6, 3, 24, 24)
    target = torch.zeros(6, 24, 24, dtype=torch.long)
    for i in range(6):
        for k in range(3):
            r, c = torch.randint(0, 17, (2,)).tolist()
            x[i, k, r:r + 7, c:c + 7] += 1.0
            target[i, r:r + 7, c:c + 7] = k + 1
    return x, target
