r"""Trains low-rank updates of a denoiser, with the loop of an example script.

Source: https://github.com/cloneofsimo/lora/issues/263
Fault: zero_grad runs after backward and before step, so every step has empty gradients and nothing
    moves.
Cause: zero_grad|clear\w*.*(before|grad)|grad\w*.*(clear|wip|zeroed|eras|empty|none)
"""

import torch
import torch.nn.functional as F
from torch import nn


class LoraInjectedLinear(nn.Module):
    def __init__(self, linear, r=4):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.lora_down = nn.Linear(linear.in_features, r, bias=False)
        self.lora_up = nn.Linear(r, linear.out_features, bias=False)
        nn.init.normal_(self.lora_down.weight, std=1 / r)
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, input):
        return self.linear(input) + self.lora_up(self.lora_down(input))


torch.manual_seed(0)
unet = nn.Sequential(
    LoraInjectedLinear(nn.Linear(8, 64)), nn.SiLU(), LoraInjectedLinear(nn.Linear(64, 8))
)
params = [p for p in unet.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(params, lr=5e-3)
lr_scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
subject = torch.randn(8)
running = []
for step in range(200):
    latents = subject + 0.1 * torch.randn(32, 8)
    noise = torch.randn_like(latents)
    model_pred = unet(0.6 * latents + 0.8 * noise)
    loss = F.mse_loss(model_pred, noise)
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.zero_grad()  # here
    optimizer.step()
    lr_scheduler.step()
    running.append(loss.item())
    if step % 40 == 39:
        print(f"step {step} loss {sum(running[-40:]) / 40:.4f}")
