r"""A transformer that predicts the next frame of a world, fine-tuned by low-rank updates.

Source: https://github.com/nvidia-cosmos/cosmos-predict2.5/pull/15
Fault: the low-rank layers are put in first and init_weights runs over them afterwards and sets both
    factors to zero; the gradient of either contains the other, so that neither ever moves.
Cause: (lora|low.?rank|factor).*(zero|initiali[sz]|never (move|train|learn))
    |(lora_[ab]|both|down|update).*(zero|initiali[sz]|never (move|train|learn))
    |(lora|low.?rank|factor|lora_[ab]|both|down|update).*(dead|stuck|no gradient)
    |(zero|initiali[sz]|init_weights)\w*.*(lora|low.?rank|factor|both)
    |(zero|initiali[sz]|init_weights)\w*.*(lora_[ab]|afterwards|overwrit|product)
    |(product|two|both).*zero|zero.*(never|cannot|neither|stay)
Place: lora|init_weights|LoraLinear|lora_[aAbB]
"""
import torch
from torch import nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base, rank=4, alpha=4.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * self.lora_B(self.lora_A(x))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.output_proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = [f(x).view(b, n, self.heads, -1).transpose(1, 2)
                   for f in (self.q_proj, self.k_proj, self.v_proj)]
        x = F.scaled_dot_product_attention(q, k, v)
        return self.output_proj(x.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.self_attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class WorldModel(nn.Module):
    def __init__(self, size=8, patch=2, dim=32, depth=2, heads=4, use_lora=True, rank=4):
        super().__init__()
        self.size, self.patch = size, patch
        self.x_embedder = nn.Linear(patch * patch, dim)
        self.pos = nn.Parameter(torch.zeros(1, (size // patch) ** 2, dim))
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.final_norm = nn.LayerNorm(dim)
        self.final_layer = nn.Linear(dim, patch * patch)
        for p in self.parameters():
            p.requires_grad_(False)
        if use_lora:
            self.add_lora(rank)
        self.init_weights()

    def add_lora(self, rank, targets=("q_proj", "k_proj", "v_proj", "output_proj")):
        for block in self.blocks:
            for name in targets:
                base = getattr(block.self_attn, name)
                setattr(block.self_attn, name, LoraLinear(base, rank))
            block.mlp[0] = LoraLinear(block.mlp[0], rank)
            block.mlp[2] = LoraLinear(block.mlp[2], rank)

    def init_weights(self):
        std = self.x_embedder.out_features ** -0.5
        nn.init.trunc_normal_(self.pos, std=std)
        for name, p in self.named_parameters():
            if "lora_" in name:
                nn.init.zeros_(p)  # here
            elif "norm" in name:
                continue
            elif p.ndim == 2:
                nn.init.trunc_normal_(p, std=std, a=-3 * std, b=3 * std)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def patchify(self, x):
        b, p, s = x.shape[0], self.patch, self.size // self.patch
        return x.view(b, s, p, s, p).transpose(2, 3).reshape(b, s * s, p * p)

    def forward(self, frame, next_frame):
        x = self.x_embedder(self.patchify(frame)) + self.pos
        for block in self.blocks:
            x = block(x)
        out = self.final_layer(self.final_norm(x))
        return F.mse_loss(out, self.patchify(next_frame))


def make_frames(n=16, size=8, seed=0):
    g = torch.Generator().manual_seed(seed)
    frame = torch.zeros(n, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 2, (2,), generator=g).tolist()
        frame[i, r:r + 3, c:c + 3] = 1.0
    return frame, torch.roll(frame, 2, dims=2)


def build():
    torch.manual_seed(0)
    return WorldModel()


def example_inputs():
    return make_frames(8)
