r"""A DDPM on points of the plane in the form of a popular repo: GaussianDiffusion and a Trainer.

Source: https://github.com/lucidrains/denoising-diffusion-pytorch/issues/18
Fault: alphas_cumprod_prev is padded with the 1 on the right and not on the left, so it is not
    shifted; the coefficients of the posterior are wrong and the samples lie far away from the data.
Cause: alphas?_cumprod_prev\b.*(pad\w*|shift\w*|right|left|wrong|equal|identical|same|last|end
    |off by one|aligned)
    |pad\w*\b.*(right|wrong side|end|left|front)
    |(previous|prev|shifted)\b.*(alpha|cumulative product|cumprod)\b.*(not shifted|wrong
    |unshifted|same|off by one|misaligned)
    |posterior\b.*(mean|coef\w*|variance)\b.*(wrong|alphas_cumprod_prev|not shifted|add up|sum)
Place: alphas_cumprod_prev|F\.pad|posterior_mean_coef\d|posterior_\w+|GaussianDiffusion
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


def cosine_beta_schedule(timesteps, s=0.008):
    x = torch.linspace(0, timesteps, timesteps + 1)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0, 0.999)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim) * -emb)
        emb = x[:, None].float() * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=96, time_dim=32):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(time_dim), nn.Linear(time_dim, dim),
                                      nn.GELU(), nn.Linear(dim, dim))
        self.inp = nn.Linear(2, dim)
        self.mid1 = nn.Linear(dim, dim)
        self.mid2 = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x, time):
        t = self.time_mlp(time)
        h = F.silu(self.inp(x) + t)
        h = h + F.silu(self.mid1(h) + t)
        h = h + F.silu(self.mid2(h))
        return self.out(h)


class GaussianDiffusion(nn.Module):
    def __init__(self, denoise_fn, timesteps=50, loss_type='l2'):
        super().__init__()
        self.denoise_fn = denoise_fn
        betas = cosine_beta_schedule(timesteps)
        alphas = 1. - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (0, 1), value=1.)  # here
        self.num_timesteps = int(timesteps)
        self.loss_type = loss_type

        self.register_buffer('betas', betas)
        self.register_buffer('alphas_cumprod', alphas_cumprod)
        self.register_buffer('sqrt_alphas_cumprod', torch.sqrt(alphas_cumprod))
        self.register_buffer('sqrt_one_minus_alphas_cumprod', torch.sqrt(1. - alphas_cumprod))
        self.register_buffer('sqrt_recip_alphas_cumprod', torch.sqrt(1. / alphas_cumprod))
        self.register_buffer('sqrt_recipm1_alphas_cumprod', torch.sqrt(1. / alphas_cumprod - 1))

        # calculations for posterior q(x_{t-1} | x_t, x_0)
        posterior_variance = betas * (1. - alphas_cumprod_prev) / (1. - alphas_cumprod)
        self.register_buffer('posterior_log_variance_clipped',
                             torch.log(posterior_variance.clamp(min=1e-20)))
        self.register_buffer('posterior_mean_coef1',
                             betas * torch.sqrt(alphas_cumprod_prev) / (1. - alphas_cumprod))
        self.register_buffer('posterior_mean_coef2',
                             (1. - alphas_cumprod_prev) * torch.sqrt(alphas)
                             / (1. - alphas_cumprod))

    def predict_start_from_noise(self, x_t, t, noise):
        return (extract(self.sqrt_recip_alphas_cumprod, t, x_t.shape) * x_t
                - extract(self.sqrt_recipm1_alphas_cumprod, t, x_t.shape) * noise)

    def q_posterior(self, x_start, x_t, t):
        mean = (extract(self.posterior_mean_coef1, t, x_t.shape) * x_start
                + extract(self.posterior_mean_coef2, t, x_t.shape) * x_t)
        return mean, extract(self.posterior_log_variance_clipped, t, x_t.shape)

    @torch.no_grad()
    def p_sample(self, x, t):
        x_recon = self.predict_start_from_noise(x, t, self.denoise_fn(x, t)).clamp(-2., 2.)
        model_mean, log_variance = self.q_posterior(x_recon, x, t)
        noise = torch.randn_like(x)
        nonzero_mask = (1 - (t == 0).float()).reshape(-1, 1)
        return model_mean + nonzero_mask * (0.5 * log_variance).exp() * noise

    @torch.no_grad()
    def sample(self, batch_size):
        img = torch.randn(batch_size, 2)
        for i in reversed(range(0, self.num_timesteps)):
            img = self.p_sample(img, torch.full((batch_size,), i, dtype=torch.long))
        return img

    def forward(self, x):
        t = torch.randint(0, self.num_timesteps, (x.shape[0],)).long()
        noise = torch.randn_like(x)
        x_noisy = (extract(self.sqrt_alphas_cumprod, t, x.shape) * x
                   + extract(self.sqrt_one_minus_alphas_cumprod, t, x.shape) * noise)
        return F.mse_loss(self.denoise_fn(x_noisy, t), noise)


def flower(n):
    """a ring of five petals, about unit radius"""
    k = torch.randint(0, 5, (n,)).float()
    phi = k * 2 * math.pi / 5
    centre = torch.stack([phi.cos(), phi.sin()], dim=1)
    return centre + 0.08 * torch.randn(n, 2)


class Trainer:
    def __init__(self, diffusion_model, train_batch_size=256, train_lr=2e-3, steps=900):
        self.model = diffusion_model
        self.batch_size = train_batch_size
        self.steps = steps
        self.opt = torch.optim.Adam(diffusion_model.parameters(), lr=train_lr)

    def train(self):
        for step in range(self.steps):
            loss = self.model(flower(self.batch_size))
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if step % 150 == 0:
                print(f'{step}: {loss.item():.4f}')


if __name__ == '__main__':
    diffusion = GaussianDiffusion(Denoiser())
    Trainer(diffusion).train()
    diffusion.eval()
    data, samples = flower(1000), diffusion.sample(1000)
    print('radius of the data    %.3f +- %.3f' % (data.norm(dim=1).mean(), data.norm(dim=1).std()))
    print('radius of the samples %.3f +- %.3f' % (samples.norm(dim=1).mean(),
                                                  samples.norm(dim=1).std()))
    dist = torch.cdist(samples, data).min(dim=1).values
    print('mean distance to the nearest data point %.3f' % dist.mean())
