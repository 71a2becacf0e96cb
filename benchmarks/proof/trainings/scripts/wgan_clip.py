"""In the style of the first Wasserstein GAN: five steps of the critic, backward of one and -one."""

import json

import torch
from torch import nn, optim

torch.manual_seed(3)
one = torch.tensor(1.0)
mone = one * -1
netG = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizerD = optim.RMSprop(netD.parameters(), lr=5e-4)
optimizerG = optim.RMSprop(netG.parameters(), lr=5e-4)
first = last = None
gen_iterations = 0
while gen_iterations < 40:
    for p in netD.parameters():
        p.requires_grad = True
    Diters = 20 if gen_iterations < 2 else 5
    for _ in range(Diters):
        for p in netD.parameters():
            p.data.clamp_(-0.1, 0.1)
        angle = torch.rand(64, 1) * 6.283
        real = torch.cat([angle.cos(), angle.sin()], 1) + 2
        netD.zero_grad()
        errD_real = netD(real).mean(0).view(1)
        errD_real.backward(one.view(1))
        with torch.no_grad():
            fake = netG(torch.randn(64, 4))
        errD_fake = netD(fake).mean(0).view(1)
        errD_fake.backward(mone.view(1))
        errD = errD_real - errD_fake
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    fake = netG(torch.randn(64, 4))
    errG = netD(fake).mean(0).view(1)
    errG.backward(one.view(1))
    optimizerG.step()
    first = errG.item() if first is None else first
    last = errG.item()
    gen_iterations += 1
    if gen_iterations % 10 == 0:
        print(f"[{gen_iterations}] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f}")
steps = 2 * 20 + 38 * 5
truth = {"netD": ["RMSprop", steps, None, None], "netG": ["RMSprop", 40, first, last]}
print("TRUTH", json.dumps(truth))
