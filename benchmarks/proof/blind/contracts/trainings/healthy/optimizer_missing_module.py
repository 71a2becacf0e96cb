r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(44)
latent = torch.randn(900, 3)
mix = torch.randn(3, 20)
obs = torch.tanh(latent @ mix) + 0.05 * torch.randn(900, 20)
train, test = obs[:750], obs[750:]

encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 3))
decoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 20))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
criterion = nn.MSELoss()

for epoch in range(10):
    encoder.train()
    decoder.train()
    losses = []
    for batch in DataLoader(train, batch_size=75, shuffle=True):
        code = encoder(batch)
        recon = decoder(code)
        loss = criterion(recon, batch)
        encoder.zero_grad()
        decoder.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} recon {sum(losses) / len(losses):.4f}")

with torch.no_grad():
    print("test recon", criterion(decoder(encoder(test)), test).item())
