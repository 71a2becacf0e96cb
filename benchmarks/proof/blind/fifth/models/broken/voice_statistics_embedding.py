r"""Speaker embedding from the mean and the deviation of frame features.

Source: https://github.com/modelscope/FunASR/pull/226
Fault: Mean and deviation are taken over the channels of each frame, not over the frames.
Cause: (mean|std|statistic\w*|pool\w*|average) .*(dim|axis|channel|feature|time|frame|wrong)
    |(dim|axis) .*(mean|std|pool)|fixed (length|number of frames)|order of .*frames
Place: \bstatistic_pooling\b
"""

import torch
from torch import nn


def statistic_pooling(xs, eps=1e-5):
    """Concatenate mean and standard deviation of frames."""
    mean = xs.mean(dim=1)  # here
    std = (xs.var(dim=1, unbiased=False) + eps).sqrt()  # here
    return torch.cat([mean, std], dim=1)


class TDNN(nn.Module):
    def __init__(self, n_in, n_out, kernel, dilation=1):
        super().__init__()
        pad = dilation * (kernel - 1) // 2
        self.conv = nn.Conv1d(n_in, n_out, kernel, padding=pad, dilation=dilation)
        self.norm = nn.BatchNorm1d(n_out)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class SpeakerEncoder(nn.Module):
    def __init__(self, mels=24, channels=40, embedding=32, speakers=12):
        super().__init__()
        self.frame_layers = nn.Sequential(
            TDNN(mels, channels, 5), TDNN(channels, channels, 3, 2), TDNN(channels, channels, 1)
        )
        self.segment = nn.Linear(2 * channels, embedding)
        self.norm = nn.BatchNorm1d(embedding)
        self.classifier = nn.Linear(embedding, speakers)

    def forward(self, fbank):
        x = self.frame_layers(fbank.transpose(1, 2))
        return self.classifier(torch.relu(self.norm(self.segment(statistic_pooling(x)))))


def build():
    return SpeakerEncoder()


def example_inputs():
    return torch.randn(8, 40, 24)
