r"""Multi-head latent attention with rotary positions in a small language model.

Source: https://github.com/tensorgi/TPA/issues/4
Fault: queries and keys are transposed to (batch, heads, length, dim) before the rotary embedding,
    which takes the sequence to be dimension 1; so heads are turned by the number of the head, and
    the place of a token is not encoded at all.
Cause: (rotary|rope|position|rotat).*(head|dim(ension)?|axis|transpos|wrong|before)
    |(rotary|rope|position|rotat).*(after|sequence|not|order|ignored|no effect|shape)
    |(transpos|swap|permut)\w*.*(rotary|rope|position|rotat)
    |(head|dim(ension)?|axis).*(rotary|rope|position|rotat)
    |(order|permut).*(invariant|equivariant|ignored|no(t)? (effect|seen|depend))
Place: rotary|cos|apply_rotary_emb|transpose|q_pe|k_pe|MLA|Rotary|attn
"""
import torch
import torch.nn as nn
from torch.nn import functional as F

VOCAB = 16
BLOCK = 20


class Rotary(torch.nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer('inv_freq', 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)),
                             persistent=False)

    def forward(self, x):
        seq_len = x.shape[1]
        t = torch.arange(seq_len, device=x.device).type_as(self.inv_freq)
        freqs = torch.outer(t, self.inv_freq)
        return freqs.cos()[None, :, None, :], freqs.sin()[None, :, None, :]


def apply_rotary_emb(x, cos, sin):
    assert x.ndim == 4
    d = x.shape[3] // 2
    x1 = x[..., :d]
    x2 = x[..., d:]
    y1 = x1 * cos + x2 * sin
    y2 = x1 * (-sin) + x2 * cos
    return torch.cat([y1, y2], 3).type_as(x)


class MLA(nn.Module):
    def __init__(self, n_embd=48, n_head=4, q_lora_rank=24, kv_lora_rank=16,
                 nope_dim=8, rope_dim=8, v_dim=12):
        super().__init__()
        self.n_head = n_head
        self.nope_dim, self.rope_dim, self.v_dim = nope_dim, rope_dim, v_dim
        self.kv_lora_rank = kv_lora_rank
        self.q_a = nn.Linear(n_embd, q_lora_rank, bias=False)
        self.q_norm = nn.LayerNorm(q_lora_rank)
        self.q_b = nn.Linear(q_lora_rank, n_head * (nope_dim + rope_dim), bias=False)
        self.kv_a = nn.Linear(n_embd, kv_lora_rank + rope_dim, bias=False)
        self.kv_norm = nn.LayerNorm(kv_lora_rank)
        self.kv_b = nn.Linear(kv_lora_rank, n_head * (nope_dim + v_dim), bias=False)
        self.c_proj = nn.Linear(n_head * v_dim, n_embd, bias=False)
        self.rotary = Rotary(rope_dim)

    def forward(self, x):
        B, T, C = x.size()
        q = self.q_b(self.q_norm(self.q_a(x)))
        q = q.view(B, T, self.n_head, self.nope_dim + self.rope_dim)
        compressed = self.kv_a(x)
        kv, k_pe = compressed.split([self.kv_lora_rank, self.rope_dim], dim=-1)
        kv = self.kv_b(self.kv_norm(kv)).view(B, T, self.n_head, self.nope_dim + self.v_dim)
        k_pe = k_pe.view(B, T, 1, self.rope_dim)

        q, kv, k_pe = q.transpose(1, 2), kv.transpose(1, 2), k_pe.transpose(1, 2)  # here
        q_nope, q_pe = q.split([self.nope_dim, self.rope_dim], dim=-1)
        k_nope, v = kv.split([self.nope_dim, self.v_dim], dim=-1)
        cos, sin = self.rotary(q_pe)
        q_pe = apply_rotary_emb(q_pe, cos, sin)
        cos, sin = self.rotary(k_pe)
        k_pe = apply_rotary_emb(k_pe, cos, sin)

        q = torch.cat([q_nope, q_pe], dim=-1)
        k = torch.cat([k_nope, k_pe.expand(-1, self.n_head, -1, -1)], dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, self.n_head * self.v_dim)
        return self.c_proj(y)


class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_fc1 = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.c_fc2 = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.c_proj = nn.Linear(2 * n_embd, n_embd, bias=False)

    def forward(self, x):
        return self.c_proj(F.silu(self.c_fc1(x)) * self.c_fc2(x))


class Block(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = MLA(n_embd)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab=VOCAB, n_embd=48, n_layer=2):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList([Block(n_embd) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def make_text(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    period = torch.randint(0, VOCAB, (n, 5), generator=g)
    text = period.repeat(1, BLOCK // 5 + 1)[:, :BLOCK + 1]
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def build():
    torch.manual_seed(0)
    return GPT()


def example_inputs():
    return make_text(8)
