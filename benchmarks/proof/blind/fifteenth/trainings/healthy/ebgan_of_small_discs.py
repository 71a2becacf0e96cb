r"""Energy-based GAN with an autoencoder as discriminator, on small discs.

Source: https://github.com/eriklindernoren/PyTorch-GAN/issues/18
Healthy: in the generator step the pixelwise loss has gen_imgs.detach() as its target; the generator
    still learns through the reconstruction, which is computed from gen_imgs with its graph.
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--n_epochs", type=int, default=10)
parser.add_argument("--batch_size", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.001)
parser.add_argument("--b1", type=float, default=0.5)
parser.add_argument("--b2", type=float, default=0.999)
parser.add_argument("--latent_dim", type=int, default=16)
parser.add_argument("--img_size", type=int, default=16)
parser.add_argument("--channels", type=int, default=1)
parser.add_argument("--lambda_pt", type=float, default=0.1)
opt = parser.parse_args()
print(opt)
torch.manual_seed(0)
np.random.seed(0)


def weights_init_normal(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight.data, 0.0, 0.05)
    elif classname.find("BatchNorm2d") != -1:
        torch.nn.init.normal_(m.weight.data, 1.0, 0.02)
        torch.nn.init.constant_(m.bias.data, 0.0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.init_size = opt.img_size // 4
        self.l1 = nn.Sequential(nn.Linear(opt.latent_dim, 32 * self.init_size ** 2))
        self.conv_blocks = nn.Sequential(
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 32, 3, stride=1, padding=1),
            nn.BatchNorm2d(32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 16, 3, stride=1, padding=1),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, opt.channels, 3, stride=1, padding=1),
            nn.Tanh(),
        )

    def forward(self, noise):
        out = self.l1(noise)
        out = out.view(out.shape[0], 32, self.init_size, self.init_size)
        return self.conv_blocks(out)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.down = nn.Sequential(nn.Conv2d(opt.channels, 16, 3, 2, 1), nn.ReLU())
        self.down_size = opt.img_size // 2
        down_dim = 16 * self.down_size ** 2
        self.embedding = nn.Linear(down_dim, 32)
        self.fc = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(32, down_dim), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2),
                                nn.Conv2d(16, opt.channels, 3, 1, 1))

    def forward(self, img):
        out = self.down(img)
        embedding = self.embedding(out.view(out.size(0), -1))
        out = self.fc(embedding.clone())
        out = self.up(out.view(out.size(0), 16, self.down_size, self.down_size))
        return out, embedding


def discs(n):
    yy, xx = np.mgrid[0:opt.img_size, 0:opt.img_size]
    out = []
    for _ in range(n):
        cy, cx = np.random.uniform(6, 10, 2)
        r = np.random.uniform(2.5, 4.5)
        d = np.sqrt((yy - cy) ** 2 + (xx - cx) ** 2)
        out.append(np.tanh(2 * (r - d)))
    return torch.tensor(np.array(out), dtype=torch.float)[:, None]


pixelwise_loss = nn.MSELoss()
generator = Generator()
discriminator = Discriminator()
generator.apply(weights_init_normal)
discriminator.apply(weights_init_normal)

data = discs(640)
dataloader = DataLoader(TensorDataset(data), batch_size=opt.batch_size, shuffle=True)

optimizer_G = torch.optim.Adam(generator.parameters(), lr=opt.lr, betas=(opt.b1, opt.b2))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=opt.lr * 0.3,
                               betas=(opt.b1, opt.b2))


def pullaway_loss(embeddings):
    norm = torch.sqrt(torch.sum(embeddings ** 2, -1, keepdim=True))
    normalized_emb = embeddings / norm
    similarity = torch.matmul(normalized_emb, normalized_emb.transpose(1, 0))
    batch_size = embeddings.size(0)
    loss_pt = (torch.sum(similarity) - batch_size) / (batch_size * (batch_size - 1))
    return loss_pt


def distance_to_discs(num=100):
    generator.eval()
    with torch.no_grad():
        fake = generator(torch.randn(num, opt.latent_dim)).flatten(1)
    generator.train()
    return (torch.cdist(fake, data.flatten(1)).min(1)[0] / opt.img_size).mean().item()


# ----------
#  Training
# ----------
margin = max(0.7, opt.batch_size / 64.0)
print("distance to the data before: %.3f" % distance_to_discs())

for epoch in range(opt.n_epochs):
    for i, (imgs,) in enumerate(dataloader):
        real_imgs = imgs

        # -----------------
        #  Train Generator
        # -----------------
        optimizer_G.zero_grad()
        z = torch.randn(imgs.shape[0], opt.latent_dim)
        gen_imgs = generator(z)
        recon_imgs, img_embeddings = discriminator(gen_imgs)
        g_loss = pixelwise_loss(recon_imgs, gen_imgs.detach())
        g_loss = g_loss + opt.lambda_pt * pullaway_loss(img_embeddings)
        g_loss.backward()
        optimizer_G.step()

        # ---------------------
        #  Train Discriminator
        # ---------------------
        optimizer_D.zero_grad()
        real_recon, _ = discriminator(real_imgs)
        fake_recon, _ = discriminator(gen_imgs.detach())
        d_loss_real = pixelwise_loss(real_recon, real_imgs)
        d_loss_fake = pixelwise_loss(fake_recon, gen_imgs.detach())
        d_loss = d_loss_real
        if (margin - d_loss_fake.data).item() > 0:
            d_loss = d_loss + (margin - d_loss_fake)
        d_loss.backward()
        optimizer_D.step()

    if epoch % 3 == 0 or epoch == opt.n_epochs - 1:
        print("[Epoch %d/%d] [D real %f] [D fake %f] [G loss: %f] distance %.3f" % (
            epoch, opt.n_epochs, d_loss_real.item(), d_loss_fake.item(), g_loss.item(),
            distance_to_discs()))
