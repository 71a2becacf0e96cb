"""In the style of CycleGAN: one optimizer over two generators, one over two discriminators."""

import itertools
import json

import torch
from torch import nn


def net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 24), nn.LeakyReLU(0.2), nn.Linear(24, outputs))


class CycleGANModel:
    def __init__(self):
        self.netG_A, self.netG_B = net(2, 2), net(2, 2)
        self.netD_A, self.netD_B = net(2, 1), net(2, 1)
        self.criterionGAN, self.criterionCycle = nn.MSELoss(), nn.L1Loss()
        g = itertools.chain(self.netG_A.parameters(), self.netG_B.parameters())
        d = itertools.chain(self.netD_A.parameters(), self.netD_B.parameters())
        self.optimizer_G = torch.optim.Adam(g, lr=0.002, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(d, lr=0.002, betas=(0.5, 0.999))

    def set_requires_grad(self, nets, requires_grad):
        for one in nets:
            for param in one.parameters():
                param.requires_grad = requires_grad

    def gan_loss(self, prediction, real):
        return self.criterionGAN(prediction, torch.full_like(prediction, float(real)))

    def forward(self, a, b):
        self.real_A, self.real_B = a, b
        self.fake_B = self.netG_A(a)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(b)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_G(self):
        loss = self.gan_loss(self.netD_A(self.fake_B), True)
        loss = loss + self.gan_loss(self.netD_B(self.fake_A), True)
        loss = loss + 10 * self.criterionCycle(self.rec_A, self.real_A)
        self.loss_G = loss + 10 * self.criterionCycle(self.rec_B, self.real_B)
        self.loss_G.backward()

    def backward_D_basic(self, netD, real, fake):
        loss_D = self.gan_loss(netD(real), True) + self.gan_loss(netD(fake.detach()), False)
        loss_D = loss_D * 0.5
        loss_D.backward()
        return loss_D

    def optimize_parameters(self, a, b):
        self.forward(a, b)
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(self.netD_A, self.real_B, self.fake_B)
        self.loss_D_B = self.backward_D_basic(self.netD_B, self.real_A, self.fake_A)
        self.optimizer_D.step()


torch.manual_seed(5)
model = CycleGANModel()
g, d = [], []
for step in range(80):
    a = torch.randn(32, 2) * 0.3 + 1
    b = torch.randn(32, 2) * 0.3 - 1
    model.optimize_parameters(a, b)
    g.append(model.loss_G.item())
    d.append(model.loss_D_A.item() + model.loss_D_B.item())
    if step % 20 == 0:
        print(f"loss_G {g[-1]:.4f} loss_D {model.loss_D_A.item() + model.loss_D_B.item():.4f}")
truth = {f"netG_{x}": ["Adam", 80, g[0], g[-1]] for x in "AB"}
truth |= {f"netD_{x}": ["Adam", 80, d[0], d[-1]] for x in "AB"}
print("TRUTH", json.dumps(truth))
