r"""Letters of spoken words from frames of sound, with the schedule of the transformer.

Source: https://github.com/gentaiscool/end2end-asr-pytorch/issues/4
Fault: The step goes to the inner optimizer and not to the wrapper that sets the rate of the
    schedule, so the rate stays at its first value of zero.
Cause: learning.?rate|\blr\b|schedul|warm.?up|noam|wrapper|(no|never|not|un)\s?\w*\s?(updat|chang)
    |opt\.optimizer|inner optimi[sz]er
Place: optimizer|NoamOpt|\bopt\b|\blr\b|rate|step
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(89)
LETTERS, FRAMES, BANDS = 12, 24, 16
sound_of = torch.randn(LETTERS, BANDS)


class NoamOpt:
    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size
        self._rate = 0

    def step(self):
        self._step += 1
        rate = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self._rate = rate
        self.optimizer.step()

    def rate(self, step=None):
        step = self._step if step is None else step
        scale = min(step ** (-0.5), step * self.warmup ** (-1.5))
        return self.factor * self.model_size ** (-0.5) * scale


class Recogniser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.input_linear = nn.Linear(BANDS, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.output_linear = nn.Linear(dim, LETTERS)

    def forward(self, frames):
        return self.output_linear(self.encoder(self.input_linear(frames)))


def speech(count=32):
    letters = torch.randint(0, LETTERS, (count, FRAMES // 4)).repeat_interleave(4, 1)
    frames = sound_of[letters] + 1.5 * torch.randn(count, FRAMES, BANDS)
    return frames, letters


class Trainer:
    def train(self, model, opt, steps=120):
        model.train()
        total_loss = 0.0
        for i in range(steps):
            frames, letters = speech()
            opt.optimizer.zero_grad()
            loss = F.cross_entropy(model(frames).flatten(0, 1), letters.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 400)
            opt.optimizer.step()  # here
            total_loss += loss.item()
            if i % 30 == 29:
                print(f"(Step {i + 1}) TRAIN LOSS:{total_loss / 30:.4f}")
                total_loss = 0.0


model = Recogniser()
opt = NoamOpt(32, 0.25, 40, torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98)))
Trainer().train(model, opt)
with torch.no_grad():
    frames, letters = speech(200)
    errors = (model(frames).argmax(-1) != letters).float().mean().item()
print(f"share of wrong letters {errors:.3f}")
