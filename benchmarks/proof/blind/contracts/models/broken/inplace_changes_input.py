r"""The model `ImageRegressor`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.sub_.html
Fault: The forward standardises its input in place, so the caller's tensor is changed and a second
    call gives another result.
Cause: in-?place|(input|argument|caller).*(modif|chang|mutat|overwrit|alter)
    |(modif|chang|mutat|overwrit|alter)\w*.*(input|argument|caller)|(second|repeated|two) call
    |side effect
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageRegressor(nn.Module):
    def __init__(self, width=16, out=2):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.48, 0.45, 0.41]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.23, 0.22, 0.23]).view(1, 3, 1, 1))
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.out = nn.Linear(width, out)

    def forward(self, img):
        x = img.sub_(self.mean).div_(self.std)
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.out(x.mean(dim=(2, 3)))


torch.manual_seed(0)
model = ImageRegressor()
example_inputs = (torch.rand(4, 3, 20, 20),)
