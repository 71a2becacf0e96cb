r"""Body movements produced from the sound and the words of a speaker, frame by frame.

Source: https://github.com/Svito-zar/gesticulator/issues/62
Fault: The recurrent speech encoder expects time first but gets batch first, so it runs over the
    examples of the batch as if they were steps in time.
Cause: batch_first|(batch|example|sample)s?.{0,80}(as|for|like|instead of|treated|mistaken
    |over).{0,40}(time|sequence|steps?|seq)|(time|sequence|seq).{0,40}(first|before
    |and).{0,30}batch|(across|between|along|mix\w*|leak\w*).{0,30}(batch|examples|samples)
    |(recurrence|recurs|\bruns?\b|iterat\w*|unroll\w*|scan\w*|step\w*).{0,40}batch|(examples
    |samples).{0,60}(influence|affect|depend|mix)\w*
Place: gru|rnn|encode\w*|batch_first|speech|forward
"""

import torch
from torch import nn


class SpeechEncoder(nn.Module):
    def __init__(self, features=26, words=50, size=32):
        super().__init__()
        self.project = nn.Sequential(nn.Linear(features + words, 64), nn.Tanh())
        self.gru = nn.GRU(64, size, num_layers=1)  # here
        self.reduce = nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Dropout(0.2))

    def forward(self, audio, text):
        x = self.project(torch.cat([audio, text], 2))
        states, _ = self.gru(x)
        return self.reduce(states)


class Gestures(nn.Module):
    def __init__(self, joints=15, size=32, past=3):
        super().__init__()
        self.joints, self.past = joints, past
        self.encoder = SpeechEncoder(size=size)
        self.condition = nn.Linear(past * 3 * joints, 2 * size)
        self.hidden = nn.Linear(size, size)
        self.out = nn.Linear(size, 3 * joints)

    def forward(self, audio, text, motion):
        speech = self.encoder(audio, text)
        poses = [motion[:, i] for i in range(self.past)]
        for t in range(self.past, speech.size(1)):
            before = torch.cat(poses[-self.past :], 1)
            scale, shift = self.condition(before).chunk(2, 1)
            x = torch.tanh(self.hidden(speech[:, t]))
            poses.append(self.out((1 + scale) * x + shift))
        return torch.stack(poses[self.past :], 1)


def build():
    return Gestures()


def example_inputs():
    return torch.randn(4, 20, 26), torch.randn(4, 20, 50), torch.randn(4, 3, 45)
