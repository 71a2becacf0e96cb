r"""The model `SmallCNN`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(conv_bn(3, 16), conv_bn(16, 32, 2), conv_bn(32, 32))
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = self.features(x)
        return self.head(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = SmallCNN()
example_inputs = (torch.randn(8, 3, 16, 16),)
