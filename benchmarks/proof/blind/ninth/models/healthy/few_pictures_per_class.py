r"""Classifier by cosines for classes of which there are few pictures.

Source: https://github.com/wyharveychen/CloserLookFewShot
Odd: The class weights are normalised, have no bias, and the cosines are multiplied by a fixed
    number before the loss.
"""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class DistLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.L = weight_norm(nn.Linear(inputs, outputs, bias=False), name="weight", dim=0)
        self.scale_factor = 2 if outputs <= 200 else 10

    def forward(self, x):
        norm = torch.norm(x, p=2, dim=1, keepdim=True).expand_as(x)
        cosines = self.L(x.div(norm + 1e-5))
        return self.scale_factor * cosines


class ConvBlock(nn.Module):
    def __init__(self, inputs, outputs, pool=True):
        super().__init__()
        layers = [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(True)]
        if pool:
            layers.append(nn.MaxPool2d(2))
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                n = layer.kernel_size[0] * layer.kernel_size[1] * layer.out_channels
                layer.weight.data.normal_(0, (2.0 / float(n)) ** 0.5)
        self.trunk = nn.Sequential(*layers)

    def forward(self, x):
        return self.trunk(x)


class FewPictures(nn.Module):
    def __init__(self, classes=64, width=32, rotations=4):
        super().__init__()
        self.feature = nn.Sequential(
            *[ConvBlock(3 if i == 0 else width, width, pool=i < 4) for i in range(4)], nn.Flatten()
        )
        self.classifier = DistLinear(width * 9, classes)
        self.turned = nn.Linear(width * 9, rotations)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x, label):
        features = self.feature(x)
        scores = self.classifier(features)
        quarters = torch.randint(0, 4, (len(x),), device=x.device)
        turned = [torch.rot90(one, k, (1, 2)) for one, k in zip(x, quarters.tolist())]
        again = self.turned(self.feature(torch.stack(turned)))
        return self.loss(scores, label) + self.loss(again, quarters), scores


def build():
    return FewPictures()


def example_inputs():
    return torch.rand(8, 3, 48, 48), torch.randint(0, 64, (8,))
