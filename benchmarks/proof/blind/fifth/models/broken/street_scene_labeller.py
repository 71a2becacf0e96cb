r"""Fully convolutional network that labels each pixel of a street scene.

Source: https://github.com/wkentaro/pytorch-fcn/issues/167
Fault: All convolutions are filled from the unit normal, so the activations explode by layers.
Cause: \binit\w*|(std|scale|magnitude|size|values?) .*weight
    |weights? .*(large|scale|std|unit|magnitude)|unit normal
    |activations? .*(large|huge|grow|explod)|(grow|explod)\w* .*(layer|depth|forward)
Place: \b_initialize_weights\b
"""

import torch
from torch import nn


class FCN(nn.Module):
    def __init__(self, n_class=8):
        super().__init__()
        self.conv1 = self._stage(3, 16)
        self.conv2 = self._stage(16, 32)
        self.conv3 = self._stage(32, 48)
        self.conv4 = self._stage(48, 64)
        self.score_fr = nn.Conv2d(64, n_class, 1)
        self.score_pool3 = nn.Conv2d(48, n_class, 1)
        self.upscore2 = nn.ConvTranspose2d(n_class, n_class, 4, stride=2, padding=1, bias=False)
        self.upscore8 = nn.ConvTranspose2d(n_class, n_class, 16, stride=8, padding=4, bias=False)
        self._initialize_weights()

    @staticmethod
    def _stage(n_in, n_out):
        return nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(n_out, n_out, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2, 2, ceil_mode=True),
        )

    def _initialize_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                m.weight.data.normal_()  # here
                if m.bias is not None:
                    m.bias.data.zero_()

    def forward(self, x):
        pool3 = self.conv3(self.conv2(self.conv1(x)))
        score = self.upscore2(self.score_fr(self.conv4(pool3)))
        return self.upscore8(score + self.score_pool3(pool3))


def build():
    return FCN()


def example_inputs():
    return torch.randn(2, 3, 48, 48)
