r"""A tokenizer of frames that is trained with a perceptual loss only.

Source: https://github.com/myscience/open-genie/issues/6
Fault: the probe detaches the recorded features, so the perceptual loss cannot train the model.
Cause: detach|\bhook
Place: probe|record|decoder|tokenizer
"""

import torch
import torch.nn.functional as F
from torch import nn


class RecordingProbe:
    def __init__(self):
        self.features = None

    def __call__(self, _module, _inputs, output):
        self.features = output.detach()  # here


class PerceptualTokenizer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc = nn.Conv2d(3, width, 2, stride=2)
        self.dec = nn.ConvTranspose2d(width, 3, 2, stride=2)
        self.percept = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3))
        self.percept.requires_grad_(False)
        self.probe = RecordingProbe()
        self.percept[1].register_forward_hook(self.probe)

    def record(self, video):
        self.percept(video)
        return self.probe.features

    def forward(self, video):
        recon = self.dec(torch.tanh(self.enc(video)))
        percept_loss = F.mse_loss(self.record(recon), self.record(video))
        rec_loss = 0.0 * F.l1_loss(recon, video)
        return {"loss": percept_loss + rec_loss, "recon": recon}


def example_inputs():
    return (torch.rand(2, 3, 12, 12),)
