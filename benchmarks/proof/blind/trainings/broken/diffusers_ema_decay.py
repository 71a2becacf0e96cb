r"""Trains a denoiser and keeps an average of its weights with a warm-up of the decay.

Source: https://github.com/huggingface/diffusers/issues/1864
Fault: get_decay is stored back into self.decay, so the decay falls to one half instead of rising;
    the average is only the last two steps and as noisy as the model.
Cause: self\.decay|decay.*(overwrit|stored|wrong|half|fall|mutat)|(overwrit|mutat)\w+.*decay
Place: ema|decay|EMAModel
"""

import torch
from torch import nn


class EMAModel:
    def __init__(self, parameters, decay=0.99):
        self.shadow_params = [p.clone().detach() for p in parameters]
        self.decay = decay
        self.optimization_step = 0

    def get_decay(self, optimization_step):
        value = (1 + optimization_step) / (10 + optimization_step)
        return 1 - min(self.decay, value)

    @torch.no_grad()
    def step(self, parameters):
        self.optimization_step += 1
        self.decay = self.get_decay(self.optimization_step)  # here
        for s_param, param in zip(self.shadow_params, parameters):
            s_param.sub_(self.decay * (s_param - param))


def denoise_error(net, x0):
    gen = torch.Generator().manual_seed(0)
    noise = torch.randn(x0.shape, generator=gen)
    with torch.no_grad():
        return (net(0.7 * x0 + 0.7 * noise) - noise).pow(2).mean().item()


torch.manual_seed(0)
unet = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 6))
ema_net = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 6))
ema_unet = EMAModel(unet.parameters())
optimizer = torch.optim.SGD(unet.parameters(), lr=0.25)
mix = torch.randn(2, 6)
val = torch.randn(2000, 2) @ mix
for step in range(300):
    x0 = torch.randn(4, 2) @ mix
    noise = torch.randn_like(x0)
    loss = (unet(0.7 * x0 + 0.7 * noise) - noise).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema_unet.step(unet.parameters())
    if step % 60 == 59:
        nn.utils.vector_to_parameters(
            torch.cat([p.flatten() for p in ema_unet.shadow_params]), ema_net.parameters()
        )
        a, b = denoise_error(unet, val), denoise_error(ema_net, val)
        print(f"step {step} model {a:.4f} ema {b:.4f} decay {ema_unet.decay:.4f}")
