r"""Waves from coarse spectra by a generator whose features are to match those of real waves.

Source: https://github.com/rishikksh20/TFGAN/issues/7
Fault: In the step of the generator the matching of the features takes the features that the
    discriminator computed from the detached wave, so it gives the generator no gradient.
Cause: detach|(feature|matching|fm).{0,120}(no gradient|wrong|old|earlier|stale|first
    |discriminator(step|pass)|constant|not.{0,20}(reach|flow|update))|disc_fake_g|(disc_fake
    |feat).{0,60}instead
Place: disc_fake|disc_fake_g|feature_loss|feat|detach|feature_matching|fake_feats
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(341)
COARSE, WAVE, BANDS = 6, 24, 6
band = torch.stack([torch.sin((k + 1) * torch.linspace(0, 6.28, WAVE)) for k in range(BANDS)])


def speech(count):
    energy = torch.rand(count, BANDS)
    return energy + 0.02 * torch.randn(count, COARSE), energy @ band


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WAVE, 64), nn.Linear(64, 64)])
        self.last = nn.Linear(64, 1)

    def forward(self, wave):
        features = []
        for layer in self.layers:
            wave = F.leaky_relu(layer(wave), 0.2)
            features.append(wave)
        return features, self.last(wave)


generator = nn.Sequential(nn.Linear(COARSE, 64), nn.ReLU(), nn.Linear(64, WAVE))
discriminator = Discriminator()
optim_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
optim_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
test_coarse, test_wave = speech(200)

for step in range(300):
    coarse, real = speech(64)
    fake = generator(coarse)

    disc_real, score_real = discriminator(real)
    disc_fake, score_fake = discriminator(fake.detach())
    loss_d = ((score_real - 1) ** 2).mean() + (score_fake**2).mean()
    optim_d.zero_grad()
    loss_d.backward()
    optim_d.step()

    disc_real, _ = discriminator(real)
    disc_fake, _ = discriminator(fake.detach())
    disc_fake_g, score_fake_g = discriminator(fake)
    adversarial = ((score_fake_g - 1) ** 2).mean()
    feature_loss = torch.zeros(())
    for feat_f, feat_r in zip(disc_fake, disc_real, strict=True):  # here
        feature_loss = feature_loss + F.l1_loss(feat_f, feat_r.detach())
    loss_g = adversarial + 10 * feature_loss
    optim_g.zero_grad()
    loss_g.backward()
    optim_g.step()
    if step % 60 == 59:
        with torch.no_grad():
            error = (generator(test_coarse) - test_wave).abs().mean().item()
        print(
            f"step {step + 1} loss_d {loss_d.item():.4f} adversarial {adversarial.item():.4f} "
            f"features {feature_loss.item():.4f} waves off by {error:.4f}"
        )
