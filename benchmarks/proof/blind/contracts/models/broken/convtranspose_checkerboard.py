r"""The model `Generator`.

Source: https://distill.pub/2016/deconv-checkerboard/
Fault: ConvTranspose2d has a kernel size (3) that is not divisible by its stride (2), giving
    uneven overlap and checkerboard artefacts.
Cause: checkerboard|uneven (overlap|coverage)|kernel.*(divisib|multiple).*stride
    |stride.*(divid|divisib|multiple).*kernel|overlap\w* uneven
"""

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, z=32, ch=32):
        super().__init__()
        self.fc = nn.Linear(z, ch * 4 * 4)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(ch, ch, 3, stride=2, padding=1, output_padding=1, bias=False),
            nn.BatchNorm2d(ch),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(ch, 16, 3, stride=2, padding=1, output_padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 3, 3, padding=1),
        )

    def forward(self, z):
        x = self.fc(z).view(z.size(0), -1, 4, 4)
        return torch.tanh(self.up(x))


torch.manual_seed(0)
model = Generator()
example_inputs = (torch.randn(8, 32),)
