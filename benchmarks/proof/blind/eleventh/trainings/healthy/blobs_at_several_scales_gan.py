r"""A small multi-scale GAN with the relativistic hinge loss and a moving average of the generator.

Source: https://github.com/akanimax/BMSG-GAN/issues/40
Healthy: the discriminator loss is 0.0 for stretches and the generator loss is above 1, which looks
    like a discriminator that has won; with this loss that is normal, and the pictures get right.
"""
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)

LATENT = 8
EMA_DECAY = 0.97


def real_images(n, size=8):
    """one round blob of a few places, in [-1, 1]"""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    c = torch.randint(2, size - 2, (n, 2)).float()
    d = (yy - c[:, 0].view(-1, 1, 1)) ** 2 + (xx - c[:, 1].view(-1, 1, 1)) ** 2
    return (2 * torch.exp(-d / 3.0) - 1).unsqueeze(1)


class Generator(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.start = nn.Linear(LATENT, ch * 16)
        self.block1 = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2))
        self.rgb1 = nn.Conv2d(ch, 1, 1)
        self.up = nn.Upsample(scale_factor=2)
        self.block2 = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2),
                                    nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2))
        self.rgb2 = nn.Conv2d(ch, 1, 1)

    def forward(self, z):
        h = self.block1(self.start(z).view(z.size(0), -1, 4, 4))
        small = torch.tanh(self.rgb1(h))
        h = self.block2(self.up(h))
        return [small, torch.tanh(self.rgb2(h))]


class Discriminator(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.big = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.LeakyReLU(0.2),
                                 nn.Conv2d(ch, ch, 3, padding=1), nn.LeakyReLU(0.2),
                                 nn.AvgPool2d(2))
        self.small = nn.Sequential(nn.Conv2d(ch + 1, ch, 3, padding=1), nn.LeakyReLU(0.2))
        self.out = nn.Linear(ch * 16, 1)

    def forward(self, images):
        small, big = images
        h = torch.cat([self.big(big), small], dim=1)
        return self.out(self.small(h).flatten(1)).view(-1)


class RelativisticAverageHingeGAN:
    def __init__(self, dis):
        self.dis = dis

    def dis_loss(self, real, fake):
        r, f = self.dis(real), self.dis(fake)
        r_f_diff = r - torch.mean(f)
        f_r_diff = f - torch.mean(r)
        return (torch.mean(nn.functional.relu(1 - r_f_diff))
                + torch.mean(nn.functional.relu(1 + f_r_diff)))

    def gen_loss(self, real, fake):
        r, f = self.dis(real), self.dis(fake)
        r_f_diff = r - torch.mean(f)
        f_r_diff = f - torch.mean(r)
        return (torch.mean(nn.functional.relu(1 + r_f_diff))
                + torch.mean(nn.functional.relu(1 - f_r_diff)))


@torch.no_grad()
def update_average(shadow, model, beta):
    for s, p in zip(shadow.parameters(), model.parameters()):
        s.mul_(beta).add_(p, alpha=1 - beta)


def pyramid(x):
    return [nn.functional.avg_pool2d(x, 2), x]


def nearest(images, bank):
    d = torch.cdist(images.flatten(1), bank.flatten(1))
    return d.min(dim=1).values.mean().item()


def train(steps=151, batch=36):
    gen, dis = Generator(), Discriminator()
    shadow = copy.deepcopy(gen)
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(dis.parameters(), lr=2e-3, betas=(0.0, 0.99))
    loss = RelativisticAverageHingeGAN(dis)
    bank = real_images(400)
    for i in range(steps):
        real = pyramid(real_images(batch))
        z = torch.randn(batch, LATENT)

        fake = [f.detach() for f in gen(z)]
        d_loss = loss.dis_loss(real, fake)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = loss.gen_loss(real, gen(z))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        update_average(shadow, gen, EMA_DECAY)

        if i % 30 == 0 or i == steps - 1:
            with torch.no_grad():
                sample = shadow(torch.randn(100, LATENT))[1]
            print('batch: %d  d_loss: %f  g_loss: %f  distance to real %.3f' % (
                i, d_loss.item(), g_loss.item(), nearest(sample, bank)))
    return shadow


if __name__ == '__main__':
    train()
    print('typical distance of noise %.3f' % nearest(
        torch.rand(100, 1, 8, 8) * 2 - 1, real_images(400)))
