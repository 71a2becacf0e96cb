r"""Anomaly detection by an autoencoder, an adversary and a loss between features of the adversary.

Source: https://github.com/samet-akcay/skip-ganomaly/issues/5
Fault: The features are of the detached image, so their loss cannot reach the generator.
Cause: detach\w*|(latent|err_g_lat|feature)\w*.*(no grad|not|never|without|nothing|only .*discr)
    |(no|without) grad\w*.*(generator|netg)
Place: err_g_lat|feat_fake
"""

import torch
from torch import nn

torch.manual_seed(0)
basis = torch.randn(4, 24)
normal = torch.randn(256, 4) @ basis
netg = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 24))
features = nn.Sequential(nn.Linear(24, 32), nn.LeakyReLU(0.2))
classify = nn.Linear(32, 1)
optimizer_g = torch.optim.Adam(netg.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam([*features.parameters(), *classify.parameters()], lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(80):
    real = normal[torch.randint(0, 256, (32,))]
    fake = netg(real)
    feat_real = features(real)
    feat_fake = features(fake.detach())
    pred_real, pred_fake = classify(feat_real), classify(feat_fake)
    err_g_adv = bce(classify(features(fake)), torch.ones(32, 1))
    err_g_con = (fake - real).abs().mean()
    err_g_lat = (feat_fake - feat_real).square().mean()  # here
    err_g = 0.1 * err_g_adv + 5 * err_g_con + err_g_lat
    optimizer_g.zero_grad()
    err_g.backward(retain_graph=True)
    optimizer_d.zero_grad()
    err_d = bce(pred_real, torch.ones(32, 1)) + bce(pred_fake, torch.zeros(32, 1))
    err_d.backward()
    optimizer_g.step()
    optimizer_d.step()
print(f"reconstruction {err_g_con.item():.3f}, features {err_g_lat.item():.3f}")
