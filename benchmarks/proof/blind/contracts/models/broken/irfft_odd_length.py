r"""The model `FourierOperator`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.fft.irfft.html
Fault: irfft without n assumes an even length, so a signal of odd length comes back one sample
    short and slightly stretched.
Cause: irfft|odd|n=|(one|1) (sample|step|element|point) (short|less|fewer)
    |length.*(chang|differ|short|mismatch|lost|odd|even)|(short|shrink)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(width, width, modes, 2) / width)

    def forward(self, x):
        f = torch.fft.rfft(x, dim=-1)
        w = torch.view_as_complex(self.weight)
        y = torch.zeros_like(f)
        y[..., :self.modes] = torch.einsum("bik,iok->bok", f[..., :self.modes], w)
        return torch.fft.irfft(y, dim=-1)


class FourierOperator(nn.Module):
    def __init__(self, width=12, modes=6):
        super().__init__()
        self.lift = nn.Conv1d(2, width, 1)
        self.spectral = SpectralConv(width, modes)
        self.out = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        h = self.lift(x)
        return self.out(F.gelu(self.spectral(h)))


torch.manual_seed(0)
model = FourierOperator()
example_inputs = (torch.randn(4, 2, 33),)
