"""Code of a picture drawn from the code of its caption by removing noise step by step.

Source: https://github.com/lucidrains/DALLE2-pytorch/issues/30
Odd: Target and prediction are given to the loss in the opposite order, the net gives the clean code
    and not the noise, and the caption is left out in a fifth of the cases on purpose.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(721)
CAPTION, CODE, STEPS = 8, 10, 40
to_code = torch.randn(CAPTION, CODE) / CAPTION**0.5
betas = torch.linspace(1e-3, 0.15, STEPS)
alphas_cumprod = torch.cumprod(1 - betas, 0)


def captioned(count):
    caption = torch.randn(count, CAPTION)
    return caption, torch.tanh(caption @ to_code) + 0.05 * torch.randn(count, CODE)


class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.null = nn.Parameter(torch.randn(CAPTION))
        self.time = nn.Embedding(STEPS, 32)
        self.net = nn.Sequential(
            nn.Linear(CODE + CAPTION + 32, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(),
            nn.Linear(128, CODE),
        )  # fmt: skip

    def forward(self, noisy, times, caption, drop_prob=0.0):
        keep = torch.rand(len(noisy), 1) >= drop_prob
        caption = torch.where(keep, caption, self.null)
        return self.net(torch.cat([noisy, self.time(times), caption], 1))


prior = Prior()
optimizer = torch.optim.AdamW(prior.parameters(), lr=2e-3)
for step in range(400):
    caption, image_embed = captioned(128)
    times = torch.randint(0, STEPS, (128,))
    kept = alphas_cumprod[times].unsqueeze(1)
    noisy = kept.sqrt() * image_embed + (1 - kept).sqrt() * torch.randn_like(image_embed)
    pred = prior(noisy, times, caption, drop_prob=0.2)
    loss = F.mse_loss(image_embed, pred)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    caption, image_embed = captioned(400)
    x = torch.randn(400, CODE)
    for t in reversed(range(STEPS)):
        clean = prior(x, torch.full((400,), t), caption)
        before = alphas_cumprod[t - 1] if t else torch.tensor(1.0)
        noise = (x - alphas_cumprod[t].sqrt() * clean) / (1 - alphas_cumprod[t]).sqrt()
        x = before.sqrt() * clean + (1 - before).sqrt() * noise
    near = F.cosine_similarity(x, image_embed).mean().item()
print(f"similarity of drawn and true codes {near:.3f}")
