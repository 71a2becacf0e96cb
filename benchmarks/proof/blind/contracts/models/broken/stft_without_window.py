r"""The model `KeywordSpotter`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.stft.html
Fault: torch.stft without a window uses a rectangular one, which leaks energy over all
    frequencies.
Cause: window|rectang|hann|leak
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class KeywordSpotter(nn.Module):
    def __init__(self, n_fft=64, hop=32, width=16, classes=6):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.conv1 = nn.Conv1d(n_fft // 2 + 1, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, padding=1)
        self.head = nn.Linear(width, classes)

    def spectrogram(self, wav):
        s = torch.stft(
            wav, self.n_fft, self.hop, return_complex=True
        )
        return torch.log1p(s.abs())

    def forward(self, wav):
        h = F.relu(self.conv1(self.spectrogram(wav)))
        h = F.relu(self.conv2(h))
        return self.head(h.mean(dim=-1))


torch.manual_seed(0)
model = KeywordSpotter()
example_inputs = (torch.randn(4, 512),)
