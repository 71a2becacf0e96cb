r"""Strings of a small grammar are coded in a space from which new strings can be drawn.

Source: https://github.com/mkusner/grammarVAE/issues/2
Fault: The divergence is averaged over the latent dimensions while the other term is a sum.
Cause: (kl|diverg|regulari)\w*.{0,120}(mean|averag|sum|small|weak|weight|scale|divid|low|too little)
    |(mean|averag|sum)\w*.{0,80}(kl|diverg|latent)
    |latent.{0,80}(prior|too wide|not normal|far from|variance)
Place: \bkl\b|kl_loss|mean
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(68)
RULES, LENGTH, LATENT = 6, 6, 16
allowed = torch.zeros(RULES, RULES)
for r in range(RULES):
    allowed[r, (r + 1) % RULES] = allowed[r, (r + 2) % RULES] = 1


def derive(count):
    steps = [torch.randint(0, RULES, (count,))]
    bias = torch.randint(0, 2, (count,))
    for _ in range(LENGTH - 1):
        jump = torch.where(torch.rand(count) < 0.97, bias, 1 - bias) + 1
        steps.append((steps[-1] + jump) % RULES)
    return torch.stack(steps, 1)


class GrammarVae(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(RULES * LENGTH, width), nn.ReLU())
        self.z_mean, self.z_log_var = nn.Linear(width, LATENT), nn.Linear(width, LATENT)
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, RULES * LENGTH)
        )

    def decode(self, z):
        return self.decoder(z).view(-1, LENGTH, RULES)

    def loss(self, strings):
        h = self.encoder(F.one_hot(strings, RULES).float().flatten(1))
        z_mean, z_log_var = self.z_mean(h), self.z_log_var(h)
        z = z_mean + (0.5 * z_log_var).exp() * torch.randn_like(z_mean)
        logits = self.decode(z)
        xent = F.cross_entropy(logits.transpose(1, 2), strings, reduction="none").sum(1)
        kl = -0.5 * (1 + z_log_var - z_mean.square() - z_log_var.exp()).mean(dim=-1)  # here
        return (xent + kl).mean(), xent.mean().item(), kl.mean().item()


@torch.no_grad()
def valid_share(model, count=600):
    logits = model.decode(torch.randn(count, LATENT))
    drawn = torch.distributions.Categorical(logits=logits).sample()
    return allowed[drawn[:, :-1], drawn[:, 1:]].all(dim=1).float().mean().item()


model = GrammarVae()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    loss, xent, kl = model.loss(derive(100))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        share = valid_share(model)
        print(f"{step + 1} loss {loss.item():.3f} xent {xent:.3f} kl {kl:.3f} valid {share:.3f}")
