r"""Denoising diffusion on points of two arcs, with training and ancestral sampling.

Source: https://github.com/tqch/ddpm-torch/issues/2
Healthy: the net predicts the plain standard normal noise, not the noise times its coefficient in
    x_t; that is the usual target, and the sampling divides by the coefficient accordingly.
"""
import argparse
import math

import torch
import torch.nn as nn
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


def get_beta_schedule(beta_start, beta_end, timesteps):
    return torch.linspace(beta_start, beta_end, timesteps, dtype=torch.float64)


class GaussianDiffusion:
    def __init__(self, betas, model_mean_type="eps", model_var_type="fixed-small"):
        self.model_mean_type = model_mean_type
        self.model_var_type = model_var_type
        self.timesteps = len(betas)
        alphas = 1 - betas
        alphas_bar = torch.cumprod(alphas, dim=0)
        alphas_bar_prev = torch.cat([torch.ones(1, dtype=torch.float64), alphas_bar[:-1]])
        self.betas = betas
        self.sqrt_alphas_bar = torch.sqrt(alphas_bar)
        self.sqrt_one_minus_alphas_bar = torch.sqrt(1 - alphas_bar)
        self.sqrt_recip_alphas_bar = torch.sqrt(1 / alphas_bar)
        self.sqrt_recip_m1_alphas_bar = torch.sqrt(1 / alphas_bar - 1)
        self.posterior_var = betas * (1 - alphas_bar_prev) / (1 - alphas_bar)
        self.posterior_mean_coef1 = betas * torch.sqrt(alphas_bar_prev) / (1 - alphas_bar)
        self.posterior_mean_coef2 = (1 - alphas_bar_prev) * torch.sqrt(alphas) / (1 - alphas_bar)

    @staticmethod
    def _extract(arr, t, x):
        out = arr[t].to(x.dtype)
        return out.reshape((-1,) + (1,) * (x.ndim - 1))

    def q_sample(self, x_0, t, noise=None):
        if noise is None:
            noise = torch.randn_like(x_0)
        coef1 = self._extract(self.sqrt_alphas_bar, t, x_0)
        coef2 = self._extract(self.sqrt_one_minus_alphas_bar, t, x_0)
        return coef1 * x_0 + coef2 * noise

    def q_posterior_mean_var(self, x_0, x_t, t):
        mean = self._extract(self.posterior_mean_coef1, t, x_0) * x_0
        mean = mean + self._extract(self.posterior_mean_coef2, t, x_0) * x_t
        return mean, self._extract(self.posterior_var, t, x_0)

    @torch.no_grad()
    def p_sample_step(self, denoise_fn, x_t, t):
        eps = denoise_fn(x_t, t)
        x_0 = self._extract(self.sqrt_recip_alphas_bar, t, x_t) * x_t
        x_0 = x_0 - self._extract(self.sqrt_recip_m1_alphas_bar, t, x_t) * eps
        mean, var = self.q_posterior_mean_var(x_0.clamp(-2., 2.), x_t, t)
        nonzero_mask = (t > 0).reshape((-1,) + (1,) * (x_t.ndim - 1)).to(x_t)
        return mean + nonzero_mask * torch.sqrt(var) * torch.randn_like(x_t)

    def p_sample(self, denoise_fn, shape):
        x_t = torch.randn(shape)
        for ti in reversed(range(self.timesteps)):
            t = torch.full((shape[0],), ti, dtype=torch.int64)
            x_t = self.p_sample_step(denoise_fn, x_t, t)
        return x_t

    def train_losses(self, denoise_fn, x_0, t, noise=None):
        if noise is None:
            noise = torch.randn_like(x_0)
        x_t = self.q_sample(x_0, t, noise)
        model_out = denoise_fn(x_t, t)
        return (noise - model_out).pow(2).flatten(1).mean(1)


def get_timestep_embedding(timesteps, dim):
    half = dim // 2
    freq = torch.exp(-math.log(10000.) * torch.arange(half) / (half - 1))
    emb = timesteps.float()[:, None] * freq[None]
    return torch.cat([torch.sin(emb), torch.cos(emb)], dim=1)


class TemporalLayer(nn.Module):
    def __init__(self, in_features, out_features, temporal_features):
        super().__init__()
        self.fc1 = nn.Linear(in_features, out_features)
        self.norm = nn.LayerNorm(out_features)
        self.fc2 = nn.Linear(out_features, out_features)
        self.enc = nn.Linear(temporal_features, out_features)
        self.skip = nn.Identity() if in_features == out_features else nn.Linear(
            in_features, out_features, bias=False)
        self.act = nn.SiLU()

    def forward(self, x, t_emb):
        out = self.act(self.norm(self.fc1(x) + self.enc(t_emb)))
        return self.skip(x) + self.act(self.fc2(out))


class Decoder(nn.Module):
    def __init__(self, in_features, mid_features, num_temporal_layers):
        super().__init__()
        self.in_fc = nn.Linear(in_features, mid_features)
        self.temp_fc = nn.ModuleList([TemporalLayer(mid_features, mid_features, mid_features)
                                      for _ in range(num_temporal_layers)])
        self.out_fc = nn.Linear(mid_features, in_features)
        self.t_proj = nn.Sequential(nn.Linear(mid_features, mid_features), nn.SiLU())
        self.mid_features = mid_features

    def forward(self, x, t):
        t_emb = self.t_proj(get_timestep_embedding(t, self.mid_features))
        out = self.in_fc(x)
        for fc in self.temp_fc:
            out = fc(out, t_emb)
        return self.out_fc(out)


def two_arcs(n, seed):
    g = torch.Generator().manual_seed(seed)
    a = math.pi * torch.rand(n, generator=g)
    upper = torch.rand(n, generator=g) < 0.5
    x = torch.where(upper, a.cos() - 0.5, 0.5 - a.cos())
    y = torch.where(upper, a.sin() - 0.25, 0.25 - a.sin())
    return torch.stack([x, y], dim=1) + 0.05 * torch.randn(n, 2, generator=g)


def distance_to_data(samples, data):
    return torch.cdist(samples, data).min(dim=1)[0].mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--timesteps", type=int, default=60)
    parser.add_argument("--beta-end", type=float, default=0.15)
    parser.add_argument("--mid-features", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(1234)
    data = two_arcs(8000, 0)
    loader = DataLoader(TensorDataset(data), batch_size=args.batch_size, shuffle=True,
                        drop_last=True)
    diffusion = GaussianDiffusion(get_beta_schedule(0.001, args.beta_end, args.timesteps))
    model = Decoder(2, args.mid_features, 3)
    optimizer = Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.999))
    scheduler = LambdaLR(optimizer, lr_lambda=lambda t: min((t + 1) / 100, 1.0))
    held_out = two_arcs(2000, 5)
    print("distance of noise to the data %.3f" % distance_to_data(torch.randn(500, 2), held_out))
    for e in range(args.epochs):
        model.train()
        total = 0.0
        for (x,) in loader:
            t = torch.randint(diffusion.timesteps, (x.shape[0],))
            loss = diffusion.train_losses(model, x, t).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        if e % 5 == 4:
            model.eval()
            samples = diffusion.p_sample(model, (500, 2))
            print("epoch %d train loss %.4f distance of samples to the data %.3f spread %.2f" % (
                e + 1, total / len(loader), distance_to_data(samples, held_out),
                samples.std(0).mean().item()))
