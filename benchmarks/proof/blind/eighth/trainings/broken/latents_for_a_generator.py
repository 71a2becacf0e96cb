r"""Autoencoder whose code is also to be alike for two views of the same object.

Source: https://github.com/jiamings/d2c/issues/5
Fault: The contrastive loss is computed and then added with a factor of zero, so it has no effect
    and the codes do not gather by objects.
Cause: (weight|factor|coefficient|multipli)\w*.{0,60}(zero|\b0\b|0\.0)|(zero|0\.0)\b.{0,60}(weight
    |factor|moco|contrast|multipl|times|loss)|(moco|contrastive|nce)\w*.{0,80}(no effect|not (used
    |trained|count)|ignored|disabled|switched off|no gradient|does not (matter|count|contribute)
    |zero)
Place: moco_loss|loss|\bweight\w*
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(197)
OBJECTS, DIM = 12, 40
content = torch.randn(OBJECTS, 6)
mixing = torch.randn(18, DIM) / 4


def two_views(count=64):
    which = torch.randint(0, OBJECTS, (count,))
    views = []
    for _ in range(2):
        nuisance = 2.5 * torch.randn(count, 12)
        views.append(torch.cat([content[which], nuisance], 1) @ mixing)
    return views[0], views[1], which


class D2C(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, DIM))

    def encode(self, x):
        return F.normalize(self.encoder(x), dim=1) * self.encoder[-1].out_features ** 0.5


def contrastive(z1, z2, temperature=0.2):
    logits = F.normalize(z1, dim=1) @ F.normalize(z2, dim=1).T / temperature
    return F.cross_entropy(logits, torch.arange(len(logits)))


class Runner:
    def __init__(self, args):
        self.args = args
        self.model = D2C()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args["lr"])

    def step(self):
        x1, x2, _ = two_views()
        z1, z2 = self.model.encode(x1), self.model.encode(x2)
        recon = self.model.decoder(z1 + 0.1 * torch.randn_like(z1))
        recon_loss = F.mse_loss(recon, x1)
        moco_loss = contrastive(z1, z2)
        loss = recon_loss / self.args["recon_loss_weight"]
        loss += 0.0 * moco_loss  # here
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return recon_loss.item(), moco_loss.item()

    def train(self):
        for step in range(self.args["steps"]):
            recon_loss, moco_loss = self.step()
            if step % 50 == 0:
                print(f"step {step} recon {recon_loss:.4f} moco {moco_loss:.4f}")

    @torch.no_grad()
    def neighbours(self):
        x, _, which = two_views(600)
        z = F.normalize(self.model.encode(x), dim=1)
        similarity = (z @ z.T).fill_diagonal_(-2)
        return (which[similarity.argmax(1)] == which).float().mean().item()


runner = Runner({"lr": 2e-3, "steps": 250, "recon_loss_weight": 4.0})
runner.train()
print(f"nearest code of the same object {runner.neighbours():.3f}, by chance {1 / OBJECTS:.3f}")
