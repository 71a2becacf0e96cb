r"""Light net that cuts a person out of the background of a portrait.

Source: https://github.com/lafith/Mobile-UNet/issues/1
Fault: The 1x1 convolution of the shortcut is made anew, with new random weights, at each call of
    forward, so it is never trained nor stored.
Cause: (creat|made|make|construct|instantiat|built|build|new|fresh|random|re-?init)\w*.{0,120}(forward|each call|every call|per call|on the fly|every time|anew)
    |(not|never|isn't|un)\s?-?(registered|trained|learn\w*|optimi[sz]ed|saved|stored)
    |(forward|call).{0,80}(creates|makes|builds|constructs|instantiates|new (layer|conv|module))
    |(random|different).{0,60}(each|every|between) (call|time|forward|pass)|non-?determin
Place: Conv2d|shortcut|InvertedResidual|mix\d|forward
"""

import torch
from torch import nn


class InvertedResidual(nn.Module):
    def __init__(self, inp, out, stride=1, expand=4):
        super().__init__()
        self.inp, self.out, self.stride = inp, out, stride
        hidden = inp * expand
        self.conv = nn.Sequential(
            nn.Conv2d(inp, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )

    def forward(self, x):
        y = self.conv(x)
        if self.stride == 1:
            if self.inp != self.out:
                x = nn.Conv2d(self.inp, self.out, 1, device=x.device)(x)  # here
            return x + y
        return y


class PortraitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()
        )
        self.down1 = nn.Sequential(InvertedResidual(8, 16, 2), InvertedResidual(16, 16))
        self.down2 = nn.Sequential(InvertedResidual(16, 32, 2), InvertedResidual(32, 32))
        self.up1 = nn.ConvTranspose2d(32, 16, 4, 2, 1)
        self.mix1 = InvertedResidual(32, 16)
        self.up2 = nn.ConvTranspose2d(16, 8, 4, 2, 1)
        self.mix2 = InvertedResidual(16, 8)
        self.up3 = nn.ConvTranspose2d(8, 8, 4, 2, 1)
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.stem(x)
        b = self.down1(a)
        c = self.down2(b)
        x = self.mix1(torch.cat((b, self.up1(c)), 1))
        x = self.mix2(torch.cat((a, self.up2(x)), 1))
        return self.last(self.up3(x))


def build():
    return PortraitNet()


def example_inputs():
    return (torch.rand(2, 3, 48, 48),)
