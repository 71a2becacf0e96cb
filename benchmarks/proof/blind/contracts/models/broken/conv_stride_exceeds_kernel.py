r"""The model `Encoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
Fault: The stride (3) is larger than the kernel (2), so a part of the input pixels is never read.
Cause: stride.*(larger|greater|exceed|bigger|>|more than).*kernel|kernel.*(smaller|less|<).*stride
    |(pixel|input|row|column|sample)s?.*(skip|never|ignor|drop|unused|not (read|seen|used))
    |no gradient.*input|zero gradient|gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad|skips positions of its input
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, cin=1, width=16, out=10):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, width, kernel_size=2, stride=3)
        self.conv2 = nn.Conv2d(width, 2 * width, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(2 * width)
        self.fc = nn.Linear(2 * width, out)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.norm(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(x)


torch.manual_seed(0)
model = Encoder()
example_inputs = (torch.randn(8, 1, 27, 27),)
