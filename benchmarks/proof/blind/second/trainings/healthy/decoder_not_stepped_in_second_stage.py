"""The second stage of a speech synthesiser: the decoder is in the graph but is not updated.

Source: https://github.com/yl4579/StyleTTS/issues/18
Odd: the decoder gets gradients at each step and never changes; there is no optimiser step for it on
    purpose, it only carries the gradient to the predictors.
"""

import torch
from torch import nn

torch.manual_seed(2)
text = torch.randn(256, 12)
style = torch.randn(256, 4)
decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16))
true_prosody = torch.stack([text[:, :3].sum(1), text[:, 3] * style[:, 0]], 1) / 2
mel = decoder(torch.cat([true_prosody, style], 1)).detach()

model = nn.ModuleDict(
    {
        "decoder": decoder,
        "predictor": nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 2)),
    }
)
optimizer = {k: torch.optim.AdamW(m.parameters(), lr=1e-2) for k, m in model.items()}
for step in range(150):
    rows = torch.randint(0, 256, (64,))
    prosody = model["predictor"](torch.cat([text[rows], style[rows]], 1))
    mel_rec = model["decoder"](torch.cat([prosody, style[rows]], 1))
    loss = (mel_rec - mel[rows]).abs().mean()
    for opt in optimizer.values():
        opt.zero_grad()
    loss.backward()
    optimizer["predictor"].step()
    if step % 25 == 0 or step == 149:
        print(f"step {step} mel loss {loss.item():.4f}")
