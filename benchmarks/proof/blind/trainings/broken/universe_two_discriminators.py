r"""Denoises signals with a generator and two discriminators (short and long windows).

Source: https://github.com/line/open-universe/issues/5
Fault: The list of the discriminators' parameters repeats the first one, so the second is never
    optimized.
Cause: loss_mpd|(twice|repeat|duplicate).*(param|loss_mrd)|mpd.*(never|not|missing)
Place: mpd
"""

import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore", message="optimizer contains a parameter group with duplicate")


def make_disc(kernel):
    return nn.Sequential(
        nn.Conv1d(1, 8, kernel, stride=2),
        nn.LeakyReLU(0.1),
        nn.Conv1d(8, 1, 3),
        nn.AdaptiveAvgPool1d(1),
    )


class UniverseGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.score_model = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.PReLU(), nn.Conv1d(16, 1, 7, padding=3)
        )
        self.loss_mrd = make_disc(3)
        self.loss_mpd = make_disc(9)

    def configure_optimizers(self):
        params_disc = list(self.loss_mrd.parameters()) + list(self.loss_mrd.parameters())  # here
        return torch.optim.Adam(self.score_model.parameters(), 2e-3), torch.optim.Adam(
            params_disc, 2e-3
        )

    def disc_loss(self, real, fake):
        return sum(
            (d(real) - 1).pow(2).mean() + d(fake).pow(2).mean()
            for d in (self.loss_mrd, self.loss_mpd)
        )


torch.manual_seed(0)
model = UniverseGAN()
opt_gen, opt_disc = model.configure_optimizers()
for step in range(120):
    clean = torch.sin(torch.linspace(0, 25, 64) * (0.5 + torch.rand(24, 1, 1)))
    noisy = clean + 0.5 * torch.randn_like(clean)
    enhanced = model.score_model(noisy)
    d_loss = model.disc_loss(clean, enhanced.detach())
    model.zero_grad()
    d_loss.backward()
    opt_disc.step()
    adv = (model.loss_mrd(enhanced) - 1).pow(2).mean() + (model.loss_mpd(enhanced) - 1).pow(
        2
    ).mean()
    g_loss = 10 * F.mse_loss(enhanced, clean) + adv
    model.zero_grad()
    g_loss.backward()
    opt_gen.step()
    if step % 30 == 29:
        real, fake = model.loss_mpd(clean).mean().item(), model.loss_mpd(enhanced).mean().item()
        print(f"{step} g {g_loss.item():.3f} d {d_loss.item():.3f} mpd {real:.3f} {fake:.3f}")
