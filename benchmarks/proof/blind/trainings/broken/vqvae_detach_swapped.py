r"""A vector-quantised autoencoder with eight codes.

Source: https://github.com/andylolu2/jax-vqvae-gpt/issues/2
Fault: The codebook term is computed after the straight-through replacement, so its gradient goes to
    the encoder and the codes never move.
Cause: (codebook|embedding|codes?)\b.*(no gradient|never|not|zero)|straight.?through
Place: codebook|embedding|quantize
"""

import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, num_codes=8, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(num_codes, dim)
        self.beta = beta

    def forward(self, inputs):
        distances = torch.cdist(inputs, self.codebook.weight)
        encoding_indices = distances.argmin(1)
        quantize = self.codebook(encoding_indices)
        quantize = inputs + (quantize - inputs).detach()  # here
        encoding_loss = F.mse_loss(quantize.detach(), inputs)
        codebook_loss = F.mse_loss(quantize, inputs.detach())
        return quantize, codebook_loss + self.beta * encoding_loss, encoding_indices


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))
vq = VectorQuantizer()
params = [*encoder.parameters(), *decoder.parameters(), *vq.parameters()]
optimizer = torch.optim.Adam(params, lr=3e-3)
protos = 2 * torch.randn(8, 10)
start = vq.codebook.weight.detach().clone()
for step in range(300):
    x = protos[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 10)
    quantized, vq_loss, indices = vq(encoder(x))
    recon_loss = F.mse_loss(decoder(quantized), x)
    optimizer.zero_grad()
    (recon_loss + vq_loss).backward()
    optimizer.step()
    if step % 60 == 59:
        moved = (vq.codebook.weight - start).norm().item()
        used = indices.unique().numel()
        print(f"{step} recon {recon_loss:.3f} vq {vq_loss:.3f} codes used {used} moved {moved:.3f}")
