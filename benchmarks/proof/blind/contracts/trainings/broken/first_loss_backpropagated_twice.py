r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
Fault: backward is called on the first loss with retain_graph and then on the sum of both losses,
    so the first loss counts twice.
Cause: twice|double|retain_graph|two backward|counted|already
"""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(230)
mu = 1.5 * torch.randn(3, 10)
lab = torch.randint(3, (600,))
x = mu[lab] + torch.randn(600, 10)
samples = list(zip(x[:480], lab[:480]))

encoder = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
decoder = nn.Linear(24, 10)
classifier = nn.Linear(24, 3)
modules = nn.ModuleList([encoder, decoder, classifier])
opt = torch.optim.Adam(modules.parameters(), lr=5e-3)

for epoch in range(8):
    for xb, yb in DataLoader(samples, batch_size=40, shuffle=True):
        opt.zero_grad()
        z = encoder(xb)
        recon_loss = nn.functional.mse_loss(decoder(z), xb)
        recon_loss.backward(retain_graph=True)
        class_loss = nn.functional.cross_entropy(classifier(z), yb)
        total = recon_loss + class_loss
        total.backward()
        opt.step()
    print(f"epoch {epoch} recon {recon_loss.item():.4f} class {class_loss.item():.4f}")

with torch.no_grad():
    acc = (classifier(encoder(x[480:])).argmax(1) == lab[480:]).float().mean()
print("accuracy", acc.item())
