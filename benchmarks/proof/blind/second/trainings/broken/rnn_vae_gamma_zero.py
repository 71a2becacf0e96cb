r"""Trains the RNN-VAE of a behaviour pipeline, with a scheduler that the config can switch off.

Source: https://github.com/LINCellularNeuroscience/VAME/issues/26
Fault: with the scheduler off, StepLR gets gamma=0, so the learning rate becomes zero after
    step_size epochs and the loss stops falling.
Cause: gamma|(learning.?rate|\blr)\b.*\b(zero|0)\b|scheduler|StepLR
Place: gamma|scheduler
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(19)
CFG = {
    "max_epochs": 36,
    "learning_rate": 3e-3,
    "scheduler": 0,
    "scheduler_step_size": 12,
    "zdims": 6,
}


class RNNVAE(nn.Module):
    def __init__(self, features=8, hidden=24, zdims=6):
        super().__init__()
        self.encoder = nn.GRU(features, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, zdims)
        self.logvar = nn.Linear(hidden, zdims)
        self.decoder = nn.GRU(zdims, hidden, batch_first=True)
        self.out = nn.Linear(hidden, features)

    def forward(self, x):
        _, h = self.encoder(x)
        mean, logvar = self.mean(h[0]), self.logvar(h[0])
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        y, _ = self.decoder(z[:, None].expand(-1, x.size(1), -1))
        return self.out(y), mean, logvar


t = torch.linspace(0, 6.3, 20)
phase = torch.rand(96, 1, 1) * 6.3
data = torch.sin(t[None, :, None] * torch.arange(1, 9) / 4 + phase)
model = RNNVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=CFG["learning_rate"], amsgrad=True)
if CFG["scheduler"]:
    scheduler = StepLR(optimizer, step_size=CFG["scheduler_step_size"], gamma=0.2)
else:
    scheduler = StepLR(optimizer, step_size=CFG["scheduler_step_size"], gamma=0)  # here

for epoch in range(CFG["max_epochs"]):
    for x in data.split(32):
        recon, mean, logvar = model(x)
        kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(1).mean()
        loss = nn.functional.mse_loss(recon, x) + 1e-3 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch % 6 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")
