r"""Sugar content of fruit from infrared spectra, by a few whitened components of a calibration set.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html
Fault: eigh gives the eigenvalues in ascending order, so the first columns are the directions of
    the smallest variance: the network sees whitened noise instead of the main components.
Cause: ascending|(smallest|least|lowest|minor|last|wrong).{0,60}(eigen|variance|component|direct)
    |(eigen|component|direction|basis).{0,80}(smallest|least|lowest|ascending|wrong end|order)
    |(not|instead of|rather than).{0,40}(largest|leading|principal|main|top).{0,40}(eigen
    |variance|component|direction)
Place: basis|eigh|vectors|values|components|scale
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

BANDS, COMPONENTS = 40, 4


class SugarFromSpectrum(nn.Module):
    def __init__(self, calibration, components=COMPONENTS):
        super().__init__()
        mean = calibration.mean(0)
        centred = calibration - mean
        covariance = centred.T @ centred / (len(calibration) - 1)
        values, vectors = torch.linalg.eigh(covariance)
        self.register_buffer("mean", mean)
        self.register_buffer("basis", vectors[:, :components].contiguous())  # here
        self.register_buffer("scale", values[:components].sqrt())  # here
        self.net = nn.Sequential(
            nn.Linear(components, 32), nn.SiLU(),
            nn.Linear(32, 1),
        )

    def forward(self, spectrum, sugar):
        parts = (spectrum - self.mean) @ self.basis / self.scale
        return F.mse_loss(self.net(parts).squeeze(-1), sugar)


def make_fruit(n, seed):
    g = torch.Generator().manual_seed(seed)
    grid = torch.linspace(0, 1, BANDS)
    centres = torch.tensor([0.2, 0.4, 0.6, 0.8]).view(-1, 1)
    peaks = torch.exp(-((grid - centres) / 0.1) ** 2)
    amounts = torch.randn(n, 4, generator=g)
    spectrum = 1 + amounts @ peaks + 0.05 * torch.randn(n, BANDS, generator=g)
    sugar = amounts[:, 0] - 0.5 * amounts[:, 2]
    return spectrum, sugar


def build():
    torch.manual_seed(0)
    calibration, _ = make_fruit(300, seed=20)
    return SugarFromSpectrum(calibration)


def example_inputs():
    return make_fruit(96, seed=21)
