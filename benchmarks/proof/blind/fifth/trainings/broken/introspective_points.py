r"""Autoencoder that judges its own samples, with steps of encoder and decoder in turn.

Source: https://github.com/dragen1860/IntroVAE-Pytorch/issues/3
Fault: The samples are also detached in the loss of the decoder, so it has no adversarial gradient.
Cause: detach\w*|(no|without|never|zero|cut\w*) .*gradient .*(decoder|sample|adversarial|kl)
    |gradients? .*(not|never|cut|stop\w*|lost) .*(decoder|sample)|graph .*(cut|broken)
Place: \bklp_decoder\b|\bxp\b
"""

import torch
from torch import nn


def net(n_in, n_out, width=64):
    return nn.Sequential(
        nn.Linear(n_in, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, n_out),
    )


def kl(mu, logvar):
    return 0.5 * (mu.square() + logvar.exp() - logvar - 1).sum(dim=1).mean()


class IntroVAE:
    def __init__(self, data=8, z=2, margin=6.0, alpha=0.25, beta=2.0):
        self.encoder, self.decoder = net(data, 2 * z), net(z, data)
        self.z, self.margin, self.alpha, self.beta = z, margin, alpha, beta
        self.optim_encoder = torch.optim.Adam(self.encoder.parameters(), lr=2e-3)
        self.optim_decoder = torch.optim.Adam(self.decoder.parameters(), lr=2e-3)

    def encode(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        return mu, logvar.clamp(-6, 6)

    def update(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        xp = self.decoder(torch.randn_like(mu))
        reconstruction = self.beta * (self.decoder(z) - x).square().sum(dim=1).mean()
        klp = kl(*self.encode(xp.detach()))
        encoder_loss = kl(mu, logvar) + self.alpha * torch.relu(self.margin - klp) + reconstruction
        self.optim_encoder.zero_grad()
        encoder_loss.backward()
        self.optim_encoder.step()

        reconstruction = self.beta * (self.decoder(z.detach()) - x).square().sum(dim=1).mean()
        xp = self.decoder(torch.randn_like(mu))
        klp_decoder = kl(*self.encode(xp.detach()))  # here
        decoder_loss = self.alpha * klp_decoder + reconstruction
        self.optim_decoder.zero_grad()
        decoder_loss.backward()
        self.optim_decoder.step()
        return encoder_loss.item(), decoder_loss.item(), klp_decoder.item()


torch.manual_seed(0)
turn = torch.randn(2, 8)
vae = IntroVAE()
for step in range(100):
    x = torch.tanh(torch.randn(128, 2) @ turn) + 0.05 * torch.randn(128, 8)
    losses = vae.update(x)
    if step % 25 == 24:
        print(
            "step {} encoder {:.3f} decoder {:.3f} kl of samples {:.3f}".format(step + 1, *losses)
        )
