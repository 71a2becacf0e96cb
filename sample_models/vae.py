"""A variational autoencoder on top of a frozen feature extractor."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class VAEOutput:
    """The reconstruction (B, 1, 16, 16), and mean and log variance (B, latent) of the posterior."""

    reconstruction: Tensor
    mean: Tensor
    log_variance: Tensor


class VAE(nn.Module):
    """Encode 16x16 images into a small Gaussian and decode a point of it."""

    def __init__(self, latent: int = 4, hidden: int = 32) -> None:
        super().__init__()
        self.features = nn.Conv2d(1, 8, kernel_size=4, stride=4)
        self.features.requires_grad_(False)
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(8 * 4 * 4, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 16 * 16),
            nn.Sigmoid(),
            nn.Unflatten(1, (1, 16, 16)),
        )

    def forward(self, images: Tensor, *, sample: bool = False) -> VAEOutput:
        """Reconstruct images (B, 1, 16, 16) from the mean, or from a sample around it."""
        hidden = self.encoder(self.features(images))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        latent = mean
        if sample:
            latent = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return VAEOutput(self.decoder(latent), mean, log_variance)


def example_inputs() -> dict[str, Tensor | bool]:
    """Return two grey images of 16x16 pixels, and the flag that asks for sampling."""
    return {"images": torch.rand(2, 1, 16, 16), "sample": True}


# Parameters
#   features (frozen)   1*8*4*4 + 8                                  136
#   encoder             128*32 + 32                                 4128
#   mean, log_variance  32*4 + 4 each                                264
#   decoder             4*32 + 32 = 160, 32*256 + 256 = 8448        8608
# Sizes: patches of 4 give 16/4 = 4, and 8*4*4 = 128 features.
EXPECTED = {
    "type": "VAE",
    "parameters": 13136,  # 136 + 4128 + 264 + 8608
    "trainable_parameters": 13000,  # all but the 136
    "buffers": 0,
    "calls": [
        (
            "",
            "VAE",
            0,
            0,
            [(".images", (2, 1, 16, 16))],
            [(".reconstruction", (2, 1, 16, 16)), (".mean", (2, 4)), (".log_variance", (2, 4))],
        ),
        ("features", "Conv2d", 0, 136, [("[0]", (2, 1, 16, 16))], [("", (2, 8, 4, 4))]),
        ("encoder", "Sequential", 0, 0, [("[0]", (2, 8, 4, 4))], [("", (2, 32))]),
        ("encoder.0", "Flatten", 0, 0, [("[0]", (2, 8, 4, 4))], [("", (2, 128))]),
        ("encoder.1", "Linear", 0, 4128, [("[0]", (2, 128))], [("", (2, 32))]),
        ("encoder.2", "ReLU", 0, 0, [("[0]", (2, 32))], [("", (2, 32))]),
        ("mean", "Linear", 0, 132, [("[0]", (2, 32))], [("", (2, 4))]),
        ("log_variance", "Linear", 0, 132, [("[0]", (2, 32))], [("", (2, 4))]),
        ("decoder", "Sequential", 0, 0, [("[0]", (2, 4))], [("", (2, 1, 16, 16))]),
        ("decoder.0", "Linear", 0, 160, [("[0]", (2, 4))], [("", (2, 32))]),
        ("decoder.1", "ReLU", 0, 0, [("[0]", (2, 32))], [("", (2, 32))]),
        ("decoder.2", "Linear", 0, 8448, [("[0]", (2, 32))], [("", (2, 256))]),
        ("decoder.3", "Sigmoid", 0, 0, [("[0]", (2, 256))], [("", (2, 256))]),
        ("decoder.4", "Unflatten", 0, 0, [("[0]", (2, 256))], [("", (2, 1, 16, 16))]),
    ],
    "uncalled": [],
    "shared": {},
}
