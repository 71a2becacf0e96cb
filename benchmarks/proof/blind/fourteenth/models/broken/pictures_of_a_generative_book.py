r"""A convolutional VAE for colour pictures, after a book on generative models, in PyTorch.

Source: https://whosebug.com/question/5616116
Fault: the pictures are normalised with mean 0.5 and deviation 0.5 and lie between -1 and 1, but the
    decoder ends in a sigmoid, whose values lie between 0 and 1; the dark half of the pictures
    cannot be reproduced and generated pictures are grey noise.
Cause: sigmoid.{0,140}(range|\[?-1|negativ|between 0|0 and 1|0, ?1|target|input|normali|tanh|cannot
    |can.?t|never|reach|positive)
    |(range|negativ|\[-1|targets?|inputs?|tanh).{0,100}sigmoid
    |(output|decoder|reconstruct).{0,80}(range|between 0|cannot reach|never (below|negative|reach)
    |non.?negative|bounded|0 and 1|\[0, ?1)
    |(target|input|picture|image|data).{0,80}(negativ|below (0|zero)|outside|out of (the )?range)
Place: sigmoid|Sigmoid|decoder|Decoder|conv_layers|final
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride, use_batchnorm, use_dropout):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1)
        self.bn = nn.BatchNorm2d(out_channels) if use_batchnorm else nn.Identity()
        self.act = nn.LeakyReLU()
        self.dropout = nn.Dropout(0.25) if use_dropout else nn.Identity()

    def forward(self, x):
        return self.dropout(self.act(self.bn(self.conv(x))))


class Encoder(nn.Module):
    def __init__(self, z_dim=32, use_batchnorm=True, use_dropout=False):
        super().__init__()
        self.z_dim = z_dim
        self.blocks = nn.Sequential(
            EncoderBlock(3, 16, 2, use_batchnorm, use_dropout),
            EncoderBlock(16, 32, 2, use_batchnorm, use_dropout),
            EncoderBlock(32, 32, 2, use_batchnorm, use_dropout),
        )
        self.flatten = nn.Flatten()
        self.mu = nn.Linear(32 * 4 * 4, z_dim)
        self.log_var = nn.Linear(32 * 4 * 4, z_dim)

    def forward(self, x):
        x = self.flatten(self.blocks(x))
        mu = self.mu(x)
        log_var = self.log_var(x)
        return self.sample(mu, log_var), mu, log_var

    def sample(self, mu, log_var):
        epsilon = torch.randn_like(mu)
        return mu + torch.exp(log_var / 2) * epsilon


class DecoderBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride, use_batchnorm, use_dropout):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 3, stride=stride, padding=1,
                                       output_padding=stride - 1)
        self.bn = nn.BatchNorm2d(out_channels) if use_batchnorm else nn.Identity()
        self.act = nn.LeakyReLU()
        self.dropout = nn.Dropout(0.25) if use_dropout else nn.Identity()

    def forward(self, x):
        return self.dropout(self.act(self.bn(self.conv(x))))


class Decoder(nn.Module):
    def __init__(self, z_dim=32, use_batchnorm=True, use_dropout=False):
        super().__init__()
        self.fc = nn.Linear(z_dim, 32 * 4 * 4)
        self.blocks = nn.Sequential(
            DecoderBlock(32, 32, 2, use_batchnorm, use_dropout),
            DecoderBlock(32, 16, 2, use_batchnorm, use_dropout),
        )
        self.final = nn.ConvTranspose2d(16, 3, 3, stride=2, padding=1, output_padding=1)
        self.sigmoid = nn.Sigmoid()  # here

    def forward(self, z):
        x = self.fc(z).view(-1, 32, 4, 4)
        x = self.blocks(x)
        x = self.final(x)
        return self.sigmoid(x)


class VariationalAutoEncoder(nn.Module):
    def __init__(self, z_dim=32, r_loss_factor=500):
        super().__init__()
        self.encoder = Encoder(z_dim)
        self.decoder = Decoder(z_dim)
        self.r_loss_factor = r_loss_factor

    def loss(self, predictions, targets, mu, log_var):
        r_loss = F.mse_loss(predictions, targets)
        kl_loss = -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1)
        return self.r_loss_factor * r_loss + kl_loss.mean()

    def forward(self, x):
        z, mu, log_var = self.encoder(x)
        predictions = self.decoder(z)
        return self.loss(predictions, x, mu, log_var)


def normalize(images, mean=0.5, std=0.5):
    return (images - mean) / std


def build():
    torch.manual_seed(0)
    return VariationalAutoEncoder()


def example_inputs():
    torch.manual_seed(1)
    images = torch.full((16, 3, 32, 32), 0.15)
    for i in range(16):
        r, c = torch.randint(0, 20, (2,)).tolist()
        images[i, :, r:r + 12, c:c + 12] = torch.rand(3, 1, 1)
    images = (images + 0.02 * torch.randn_like(images)).clamp(0, 1)
    return (normalize(images),)
