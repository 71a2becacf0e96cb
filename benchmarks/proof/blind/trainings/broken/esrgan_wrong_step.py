r"""Super-resolution of short signals with a pixel loss and an adversarial loss.

Source: https://github.com/Lornatang/ESRGAN-PyTorch/issues/39
Fault: After the discriminator's backward pass the generator's optimizer steps again; the
    discriminator never changes and its loss stays at its start.
Cause: d_optimizer|discriminator.*(never|not).*(step|updat|chang|train)|wrong optimizer|g_optimizer
Place: d_model|discriminator|d_optimizer
"""

import torch
from torch import nn, optim

torch.manual_seed(0)
g_model = nn.Sequential(
    nn.Conv1d(1, 16, 5, padding=2),
    nn.ReLU(),
    nn.Upsample(scale_factor=2),
    nn.Conv1d(16, 1, 5, padding=2),
)
d_model = nn.Sequential(
    nn.Conv1d(1, 16, 5, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(224, 1)
)
g_optimizer = optim.Adam(g_model.parameters(), lr=2e-3)
d_optimizer = optim.Adam(d_model.parameters(), lr=2e-3)
adversarial = nn.BCEWithLogitsLoss()

for batch in range(150):
    t = torch.linspace(0, 6.28, 32)
    hr = torch.sin(t * (1 + 3 * torch.rand(32, 1, 1)) + torch.rand(32, 1, 1)).sign()
    lr = hr[:, :, ::2]
    real_label, fake_label = torch.ones(32, 1), torch.zeros(32, 1)

    g_optimizer.zero_grad()
    sr = g_model(lr)
    pixel_loss = (sr - hr).abs().mean()
    g_loss = pixel_loss + 0.1 * adversarial(d_model(sr), real_label)
    g_loss.backward()
    g_optimizer.step()

    d_optimizer.zero_grad()
    d_loss_hr = adversarial(d_model(hr), real_label)
    d_loss_sr = adversarial(d_model(sr.detach()), fake_label)
    (d_loss_hr + d_loss_sr).backward()
    g_optimizer.step()  # here
    if batch % 30 == 29:
        d_loss = (d_loss_hr + d_loss_sr).item()
        print(f"batch {batch} pixel {pixel_loss.item():.4f} D loss {d_loss:.4f}")
