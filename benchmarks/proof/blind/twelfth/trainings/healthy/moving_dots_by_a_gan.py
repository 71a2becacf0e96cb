r"""A generator of the paths of a moving dot against a discriminator, both small nets.

Source: https://github.com/batsa003/videogan/pull/1
Healthy: the fakes are not detached when the discriminator is trained, so gradients reach the
    generator too; they are cleared before its own step and its optimizer does not step there.
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--n_iter", type=int, default=1000)
parser.add_argument("--lr", type=float, default=5e-4)
parser.add_argument("--beta1", type=float, default=0.5)
parser.add_argument("--z_dim", type=int, default=8)
args = parser.parse_args()

torch.manual_seed(0)
np.random.seed(0)
T = 8


def sample_videos(n):
    # places of a dot on a circle over T frames, one of two radii
    phase = np.random.uniform(0, 2 * np.pi, (n, 1))
    radius = np.random.choice([0.5, 0.9], (n, 1))
    a = phase + 0.4 * np.arange(T)[None]
    xy = np.stack([radius * np.cos(a), radius * np.sin(a)], 2)
    xy += 0.02 * np.random.randn(*xy.shape)
    return torch.tensor(xy.reshape(n, -1), dtype=torch.float32)


class Generator(nn.Module):
    def __init__(self, z_dim):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(z_dim, 96), nn.LeakyReLU(0.2),
            nn.Linear(96, 96), nn.LeakyReLU(0.2),
            nn.Linear(96, 2 * T))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Linear(2 * T, 96), nn.LeakyReLU(0.2),
            nn.Linear(96, 96), nn.LeakyReLU(0.2),
            nn.Linear(96, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


def quality(video):
    p = video.view(-1, T, 2)
    r = p.norm(dim=2)
    wobble = r.std(1).mean().item()
    step = (p[:, 1:] - p[:, :-1]).norm(dim=2)
    ratio = (step.mean(1) / r.mean(1)).mean().item()
    return wobble, ratio, r.mean(1).std().item()


generator = Generator(args.z_dim)
discriminator = Discriminator()
loss_function = nn.BCEWithLogitsLoss()
d_optim = optim.Adam(discriminator.parameters(), lr=args.lr, betas=(args.beta1, 0.999))
g_optim = optim.Adam(generator.parameters(), lr=args.lr, betas=(args.beta1, 0.999))

print("start", ["%.3f" % v for v in quality(generator(torch.randn(500, args.z_dim)).detach())])
for it in range(args.n_iter):
    real = sample_videos(args.batch_size)
    ones, zeros = torch.ones(args.batch_size), torch.zeros(args.batch_size)

    # train the discriminator
    discriminator.zero_grad()
    z = torch.randn(args.batch_size, args.z_dim)
    fake = generator(z)
    logits_real = discriminator(real)
    logits_fake = discriminator(fake)
    d_loss = loss_function(logits_real, 0.9 * ones) + loss_function(logits_fake, zeros)
    d_loss.backward(retain_graph=True)
    d_optim.step()

    # train the generator
    generator.zero_grad()
    g_loss = loss_function(discriminator(fake), ones)
    g_loss.backward()
    g_optim.step()

    if it % 250 == 249:
        print("Iter [%d] d_loss: %.4f g_loss: %.4f" % (it + 1, d_loss.item(), g_loss.item()))

generator.eval()
with torch.no_grad():
    made = generator(torch.randn(500, args.z_dim))
print("wobble of the radius, step by radius, spread of the radii")
print("made", ["%.3f" % v for v in quality(made)])
print("real", ["%.3f" % v for v in quality(sample_videos(500))])
