r"""A GAN on points of a ring whose discriminator has two softmax outputs and uses an NLL loss.

Source: https://thinbug.com/q/62234151
Fault: the generator step classifies real points only, pretending that they are fake; nothing that
    the generator made enters this loss, so the generator gets no gradient and never changes.
Cause: generator\b.*\b(no|not|never|without|none|zero|untouched|unchanged)\b.*(grad\w*|loss
    |graph|chang\w+|updat\w+|train\w*|connect\w*|depend\w*|enter\w*|part|reach\w*
    |receive\w*|output)
    |(loss|loss_g\w*|loss_real|step)\b.*(does not (depend|involve|include|contain|touch|go|reach
    |flow)|independent of|without|not connected|never (involve|include|see)s?)\b.*generator
    |\b(only|just|solely)\b.*\breal\b|\breal\b.*\b(only|alone|solely)\b
    |(real (points|data|samples|batch|minibatch|images?))\b.*(generator|instead of)
    |\b(no|zero|none|without)\b.*(grad\w*\b.*generator|generator\b.*grad\w*)
Place: generator|loss_g|x_real|update_generator|y_pred|optimizer_generator
"""
import math

import torch
import torch.nn as nn

torch.manual_seed(6)

batch_size = 128
latent_dim = 8
label_fake, label_real = 0, 1
n_steps = 700


def get_all_real_minibatch():
    phi = torch.rand(batch_size) * 2 * math.pi
    r = 2.0 + 0.1 * torch.randn(batch_size)
    return torch.stack([r * phi.cos(), r * phi.sin()], dim=1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 64),
                                  nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Dropout(0.1),
                                  nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        return self.softmax(self.main(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = Generator()
        self.discriminator = Discriminator()


net = Net()
NLLLoss = nn.NLLLoss()
optimizer_generator = torch.optim.Adam(net.generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_discriminator = torch.optim.Adam(net.discriminator.parameters(), lr=1e-3,
                                           betas=(0.5, 0.999))


def get_all_fake_minibatch():
    return net.generator(torch.randn(batch_size, latent_dim))


def update_discriminator():
    net.generator.eval()
    net.discriminator.train()
    net.discriminator.zero_grad()

    # All-real minibatch
    y_true = torch.full((batch_size,), label_real).long()
    y_pred = net.discriminator(get_all_real_minibatch())
    loss_real = NLLLoss(torch.log(y_pred + 1e-8), y_true)
    loss_real.backward()

    # All-fake minibatch
    y_true = torch.full((batch_size,), label_fake).long()
    y_pred = net.discriminator(get_all_fake_minibatch().detach())
    loss_fake = NLLLoss(torch.log(y_pred + 1e-8), y_true)
    loss_fake.backward()

    optimizer_discriminator.step()
    return (loss_real + loss_fake).item()


def update_generator():
    net.generator.train()
    net.discriminator.eval()
    net.generator.zero_grad()

    x_real = get_all_real_minibatch()  # here
    y_true = torch.full((batch_size,), label_fake).long()  # here
    y_pred = net.discriminator(x_real)  # here
    loss_g = NLLLoss(torch.log(y_pred + 1e-8), y_true)
    loss_g.backward()

    optimizer_generator.step()
    return loss_g.item()


def report(step, d, g):
    net.generator.eval()
    with torch.no_grad():
        radius = net.generator(torch.randn(512, latent_dim)).norm(dim=1)
    print('step %4d  loss D %.3f  loss G %.3f  radius of the fakes %.3f +- %.3f' % (
        step, d, g, radius.mean(), radius.std()))


for step in range(n_steps):
    d = update_discriminator()
    g = update_generator()
    if step % 100 == 0 or step == n_steps - 1:
        report(step, d, g)
print('radius of the real points %.3f' % get_all_real_minibatch().norm(dim=1).mean())
