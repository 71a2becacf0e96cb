r"""Judge of generated talking heads by picture, landmarks and an embedding of the video.

Source: https://github.com/grey-eye/talking-heads/issues/42
Fault: The realism score ends in a sigmoid although the hinge loss pushes it below minus one and
    above one.
Cause: sigmoid.{0,160}(hinge|score|margin|-1|minus one|\[?0,? ?(to|and|,)? ?1|range|reach
    |bounded|unbounded|should not|remov\w*|not needed|raw|logit\w*|squash\w*)
    |hinge.{0,160}(sigmoid|probabilit\w*|bounded|raw|logit\w*|margin|saturat\w*)|(score
    |output).{0,80}(bounded|between 0|never (negative|below)|sigmoid|\[0)|(never|cannot
    |can't).{0,60}(margin|negative|-1|minus one)
Place: sigmoid|score|forward|activation|hinge|return|judge
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm


class ResidualDown(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.right = spectral_norm(nn.Conv2d(inputs, outputs, 3, padding=1))
        self.right2 = spectral_norm(nn.Conv2d(outputs, outputs, 3, padding=1))
        self.left = spectral_norm(nn.Conv2d(inputs, outputs, 1))

    def forward(self, x):
        out = self.right2(F.relu(self.right(F.relu(x))))
        return F.avg_pool2d(out, 2) + F.avg_pool2d(self.left(x), 2)


class Judge(nn.Module):
    def __init__(self, videos=10, size=48):
        super().__init__()
        widths = (6, 16, 24, 32, size)
        self.down = nn.ModuleList(ResidualDown(a, b) for a, b in itertools.pairwise(widths))
        self.pooling = nn.AdaptiveMaxPool2d(1)
        self.W = nn.Parameter(torch.rand(size, videos).normal_(0.0, 0.02))
        self.w_0 = nn.Parameter(torch.randn(size, 1))
        self.b = nn.Parameter(torch.randn(1))

    def forward(self, picture, landmarks, video):
        x = torch.cat([picture, landmarks], 1)
        for down in self.down:
            x = down(x)
        x = F.relu(self.pooling(x)).flatten(1)
        weight = self.W[:, video].t() + self.w_0.t()
        score = (x * weight).sum(1) + self.b
        return torch.sigmoid(score)  # here


class JudgeLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = Judge()

    def forward(self, real, fake, landmarks, video):
        good = self.judge(real, landmarks, video)
        bad = self.judge(fake, landmarks, video)
        return (F.relu(1 + bad) + F.relu(1 - good)).mean()


def build():
    return JudgeLoss()


def example_inputs():
    pictures = torch.rand(3, 4, 3, 32, 32)
    return (*pictures, torch.arange(4))
