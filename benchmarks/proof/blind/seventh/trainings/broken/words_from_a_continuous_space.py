r"""Words go to a continuous space, are made clean from noise there, and come back as words.

Source: https://github.com/cabralpinto/modular-diffusion/issues/17
Fault: The optimizer gets the parameters of the encoder and of the middle, but not the decoder's.
Cause: decoder.{0,120}(optimi|train|updat|paramet|never|not|chang|fixed|frozen|miss|left out|stay)
    |(optimi[sz]er).{0,120}(decoder|not (get|given|contain|includ)|miss|left out|without|lacks)
    |(never|not) (updat|train|chang|optimi)\w*.{0,60}decoder
Place: decoder|optimi[sz]er|parameters
"""

from itertools import chain

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(91)
WORDS, LENGTH, WIDTH = 24, 8, 16


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(WIDTH + 1, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, WIDTH)

    def forward(self, z, level):
        level = level[:, None, None].expand(-1, z.size(1), 1)
        return self.out(self.body(torch.cat([z, level], -1))[0])


class Model:
    def __init__(self):
        self.encoder = nn.Embedding(WORDS, WIDTH)
        self.denoiser = Denoiser()
        self.decoder = nn.Linear(WIDTH, WORDS)
        parameters = chain(self.encoder.parameters(), self.denoiser.parameters())
        self.optimizer = torch.optim.Adam(parameters, lr=3e-3)  # here

    def noised(self, words):
        x = F.normalize(self.encoder(words), dim=-1) * WIDTH**0.5
        level = torch.rand(len(words))
        angle = (1.5708 * level)[:, None, None]
        return x, angle.cos() * x + angle.sin() * torch.randn_like(x), level

    def step(self, words):
        x, z, level = self.noised(words)
        clean = self.denoiser(z, level)
        simple = F.mse_loss(clean, x)
        rounding = F.cross_entropy(self.decoder(clean).flatten(0, 1), words.flatten())
        loss = simple + rounding
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return simple.item(), rounding.item()

    @torch.no_grad()
    def recovered(self, words):
        _, z, level = self.noised(words)
        return (self.decoder(self.denoiser(z, level)).argmax(-1) == words).float().mean().item()


follow = torch.randint(0, WORDS, (WORDS, 2))


def sentences(count):
    words = [torch.randint(0, WORDS, (count,))]
    for _ in range(LENGTH - 1):
        words.append(follow[words[-1], torch.randint(0, 2, (count,))])
    return torch.stack(words, 1)


model = Model()
for step in range(200):
    simple, rounding = model.step(sentences(48))
    if step % 40 == 39:
        share = model.recovered(sentences(200))
        print(f"{step + 1} simple {simple:.3f} rounding {rounding:.3f} recovered {share:.3f}")
