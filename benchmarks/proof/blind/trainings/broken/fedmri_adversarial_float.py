r"""Federated reconstruction with an adversarial alignment of the latent features of two sites.

Source: https://github.com/guopengf/FL-MRCM/issues/10
Fault: The adversarial loss of the encoder is turned into a number before it is added, so the
    alignment has no gradient and the domain stays easy to recognise.
Cause: item\(|detach|plain number|(adv\w*|align\w*).*(no|not|without).*(grad|effect)
Place: loss_adv|encoder
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
decoder = nn.Linear(8, 16)
site_classifier = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt_g = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
opt_d = torch.optim.Adam(site_classifier.parameters(), lr=3e-3)
mix = torch.randn(4, 16)
epoch_loss_adv = []
for it in range(250):
    source = torch.randn(64, 4) @ mix
    target = torch.randn(64, 4) @ mix + 1.0
    feat_s, feat_t = encoder(source), encoder(target)
    d_s, d_t = site_classifier(feat_s.detach()), site_classifier(feat_t.detach())
    loss_d = F.binary_cross_entropy_with_logits(d_s, torch.ones_like(d_s))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(d_t, torch.zeros_like(d_t))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_recon = F.mse_loss(decoder(feat_s), source)
    d_t = site_classifier(feat_t)
    loss_adv_g = F.binary_cross_entropy_with_logits(d_t, torch.ones_like(d_t)).item()  # here
    loss = loss_recon + 0.3 * loss_adv_g
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
    epoch_loss_adv.append(float(loss_adv_g))
    if it % 50 == 49:
        adv = sum(epoch_loss_adv[-50:]) / 50
        print(
            f"iter {it} recon {loss_recon.item():.4f} adv {adv:.3f} classifier {loss_d.item():.3f}"
        )
