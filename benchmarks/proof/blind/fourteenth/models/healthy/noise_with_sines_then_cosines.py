r"""A little denoiser of points, whose time goes in as a row of sines followed by a row of cosines.

Source: https://github.com/huggingface/diffusers/issues/3981
Healthy: sines and cosines stand one after the other and not in turns as in the paper on
    transformers; the asker took that for an error, but the order of the columns does not matter
    to the linear layer behind. Its last layer starts at zero on purpose.
"""

import math

import torch
from torch import nn
import torch.nn.functional as F


def get_timestep_embedding(
    timesteps: torch.Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
):
    """
    This matches the implementation in Denoising Diffusion Probabilistic Models: Create
    sinusoidal timestep embeddings.

    :param timesteps: a 1-D Tensor of N indices, one per batch element.
    :param embedding_dim: the dimension of the output.
    :return: an [N x dim] Tensor of positional embeddings.
    """
    assert len(timesteps.shape) == 1, "Timesteps should be a 1d-array"

    half_dim = embedding_dim // 2
    exponent = -math.log(max_period) * torch.arange(
        start=0, end=half_dim, dtype=torch.float32, device=timesteps.device
    )
    exponent = exponent / (half_dim - downscale_freq_shift)

    emb = torch.exp(exponent)
    emb = timesteps[:, None].float() * emb[None, :]

    # scale embeddings
    emb = scale * emb

    # concat sine and cosine embeddings
    emb = torch.cat([torch.sin(emb), torch.cos(emb)], dim=-1)

    # flip sine and cosine embeddings
    if flip_sin_to_cos:
        emb = torch.cat([emb[:, half_dim:], emb[:, :half_dim]], dim=-1)

    # zero pad
    if embedding_dim % 2 == 1:
        emb = F.pad(emb, (0, 1, 0, 0))
    return emb


class TimestepEmbedding(nn.Module):
    def __init__(self, in_channels: int, time_embed_dim: int):
        super().__init__()
        self.linear_1 = nn.Linear(in_channels, time_embed_dim)
        self.act = nn.SiLU()
        self.linear_2 = nn.Linear(time_embed_dim, time_embed_dim)

    def forward(self, sample):
        return self.linear_2(self.act(self.linear_1(sample)))


class ResnetBlock(nn.Module):
    def __init__(self, dim, temb_channels, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.linear1 = nn.Linear(dim, dim)
        self.time_emb_proj = nn.Linear(temb_channels, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim, dim)
        self.nonlinearity = nn.SiLU()

    def forward(self, x, temb):
        hidden_states = self.linear1(self.nonlinearity(self.norm1(x)))
        hidden_states = hidden_states + self.time_emb_proj(self.nonlinearity(temb))
        hidden_states = self.norm2(hidden_states)
        hidden_states = self.linear2(self.dropout(self.nonlinearity(hidden_states)))
        return x + hidden_states


class PointDenoiser(nn.Module):
    def __init__(self, dim=64, steps=100, layers=3):
        super().__init__()
        self.dim = dim
        self.time_embedding = TimestepEmbedding(dim, dim)
        self.conv_in = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([ResnetBlock(dim, dim) for _ in range(layers)])
        self.conv_norm_out = nn.LayerNorm(dim)
        self.conv_out = nn.Linear(dim, 2)
        nn.init.zeros_(self.conv_out.weight)
        nn.init.zeros_(self.conv_out.bias)
        betas = torch.linspace(1e-4, 0.05, steps)
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - betas, 0))

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t].unsqueeze(1)
        return a.sqrt() * x + (1 - a).sqrt() * noise

    def forward(self, x, noise, t):
        sample = self.add_noise(x, noise, t)
        temb = self.time_embedding(get_timestep_embedding(t, self.dim))
        sample = self.conv_in(sample)
        for block in self.blocks:
            sample = block(sample, temb)
        pred = self.conv_out(F.silu(self.conv_norm_out(sample)))
        return F.mse_loss(pred, noise)


def build():
    torch.manual_seed(0)
    return PointDenoiser()


def example_inputs():
    torch.manual_seed(1)
    angle = torch.rand(256) * 2 * math.pi
    x = torch.stack([torch.cos(angle), torch.sin(angle)], 1)
    return x, torch.randn(256, 2), torch.randint(0, 100, (256,))
