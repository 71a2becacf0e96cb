r"""Slot attention on top of a small encoder, which describes a set of coloured things.

Source: https://github.com/lucidrains/slot-attention/issues/9
Healthy: the dots are multiplied by scale and not divided, since scale is dim ** -0.5 already; the
    softmax goes over the slots (dim 1) and not over the keys, and the weights are normalised
    afterwards, as the method wants it. The slots start from noise.
"""
import torch
from torch import nn
import torch.nn.functional as F

NUM_SLOTS = 4
COLOURS = 5


class SlotAttention(nn.Module):
    def __init__(self, num_slots, dim, iters=3, eps=1e-8, hidden_dim=64):
        super().__init__()
        self.dim = dim
        self.num_slots = num_slots
        self.iters = iters
        self.eps = eps
        self.scale = dim ** -0.5

        self.slots_mu = nn.Parameter(torch.randn(1, 1, dim))
        self.slots_logsigma = nn.Parameter(torch.zeros(1, 1, dim))
        nn.init.xavier_uniform_(self.slots_logsigma)

        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)
        self.gru = nn.GRUCell(dim, dim)
        hidden_dim = max(dim, hidden_dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden_dim), nn.ReLU(inplace=True), nn.Linear(hidden_dim, dim))
        self.norm_input = nn.LayerNorm(dim)
        self.norm_slots = nn.LayerNorm(dim)
        self.norm_pre_ff = nn.LayerNorm(dim)

    def forward(self, inputs, num_slots=None):
        b, n, d = inputs.shape
        n_s = num_slots if num_slots is not None else self.num_slots

        mu = self.slots_mu.expand(b, n_s, -1)
        sigma = self.slots_logsigma.exp().expand(b, n_s, -1)
        slots = mu + sigma * torch.randn(mu.shape, device=inputs.device)

        inputs = self.norm_input(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)

        for _ in range(self.iters):
            slots_prev = slots
            slots = self.norm_slots(slots)
            q = self.to_q(slots)

            dots = torch.einsum('bid,bjd->bij', q, k) * self.scale
            attn = dots.softmax(dim=1) + self.eps
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum('bjd,bij->bid', v, attn)

            slots = self.gru(updates.reshape(-1, d), slots_prev.reshape(-1, d))
            slots = slots.reshape(b, -1, d)
            slots = slots + self.mlp(self.norm_pre_ff(slots))
        return slots


class SetPredictor(nn.Module):
    """which colours are there: the best slot for each colour decides"""

    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, dim, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(dim, dim, 3, padding=1), nn.ReLU(),
        )
        self.position = nn.Parameter(0.1 * torch.randn(1, 36, dim))
        self.norm = nn.LayerNorm(dim)
        self.slots = SlotAttention(NUM_SLOTS, dim)
        self.head = nn.Linear(dim, COLOURS)

    def logits(self, img):
        x = self.encoder(img).flatten(2).transpose(1, 2) + self.position
        slots = self.slots(self.norm(x))
        return torch.logsumexp(self.head(slots), dim=1)

    def forward(self, img, present):
        return F.binary_cross_entropy_with_logits(self.logits(img), present)


PALETTE = torch.tensor(
    [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 0.], [0., 1., 1.]])


def make_things(n=32, size=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    img = 0.1 * torch.randn(n, 3, size, size, generator=g)
    present = torch.zeros(n, COLOURS)
    for i in range(n):
        corners = torch.randperm(4, generator=g)[:2].tolist()
        for corner, k in zip(corners, torch.randperm(COLOURS, generator=g)[:2].tolist()):
            r, c = torch.randint(0, size // 2 - 3, (2,), generator=g).tolist()
            r, c = r + (corner // 2) * size // 2, c + (corner % 2) * size // 2
            img[i, :, r:r + 4, c:c + 4] += PALETTE[k].view(3, 1, 1)
            present[i, k] = 1
    return img, present


def build():
    torch.manual_seed(0)
    return SetPredictor()


def example_inputs():
    return make_things(8)
