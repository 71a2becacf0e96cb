r"""A Perceiver IO: a few latents read a long input, think, and answer the query of a classifier.

Source: https://github.com/esceptico/perceiver-io/issues/9
Fault: the attention scores are divided by the scale, but the scale is already the inverse root of
    the width of a head; they come out too large by that width and the softmax saturates.
Cause: (divid|division).{0,80}(scale|root|sqrt|instead of|multipl)|(scale|scaling|scaled|scores?
    |logits?|attention|temperature).{0,100}(divid|invers|wrong|inverted|multipl|too (large|big|high
    |strong)|saturat|enlarg|amplif|explod|one.?hot|sharp|not scaled|unscaled)
    |softmax.{0,40}(saturat|one.?hot|sharp|hard)|(saturat|one.?hot|sharp).{0,60}(softmax|attention)
Place: scale|attention|MultiHeadAttention|softmax|forward
"""

from typing import Optional

import torch
from torch import nn


class FeedForward(nn.Module):
    """Transformer Feed-Forward network."""

    def __init__(self, dim: int, widening_factor: int = 4, dropout: float = 0.0):
        super().__init__()
        self.dim = dim
        self.widening_factor = widening_factor
        self.mlp = nn.Sequential(
            nn.Linear(dim, dim * widening_factor),
            nn.GELU(),
            nn.Linear(dim * widening_factor, dim),
            nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor):
        return self.mlp(x)


class MultiHeadAttention(nn.Module):
    """Multi-head attention that was described in Perceiver IO paper."""

    def __init__(self, kv_dim: int, q_dim: int, *, qk_out_dim: Optional[int] = None,
                 v_out_dim: Optional[int] = None, output_dim: Optional[int] = None,
                 num_heads: int = 1, dropout: float = 0.0):
        super().__init__()

        if qk_out_dim is None:
            qk_out_dim = q_dim
        if v_out_dim is None:
            v_out_dim = qk_out_dim
        if output_dim is None:
            output_dim = v_out_dim

        self.num_heads = num_heads
        self.qk_head_dim = qk_out_dim // num_heads
        self.v_head_dim = v_out_dim // num_heads

        self.k = nn.Linear(kv_dim, qk_out_dim)
        self.q = nn.Linear(q_dim, qk_out_dim)
        self.v = nn.Linear(kv_dim, v_out_dim)
        self.projection = nn.Linear(v_out_dim, output_dim)
        self.dropout = nn.Dropout(dropout)
        self.scale = self.qk_head_dim ** -0.5

    def transform_for_scores(self, x: torch.Tensor, head_dim: int):
        # (..., seq_len, dim) -> (..., n_heads, seq_len, head_dim)
        *dims, seq, hid = x.size()
        x = x.view(*dims, seq, self.num_heads, head_dim)
        return x.transpose(-3, -2)

    def forward(self, inputs_kv: torch.Tensor, inputs_q: torch.Tensor):
        keys, queries, values = self.k(inputs_kv), self.q(inputs_q), self.v(inputs_kv)
        keys = self.transform_for_scores(keys, self.qk_head_dim)
        queries = self.transform_for_scores(queries, self.qk_head_dim)
        values = self.transform_for_scores(values, self.v_head_dim)
        attention = (queries @ keys.transpose(-2, -1) / self.scale)  # here
        attention = attention.softmax(dim=-1)
        attention = self.dropout(attention)
        weighted = attention @ values
        # (..., n_heads, seq_len, head_dim) -> (..., seq_len, hid)
        *dims, n_heads, seq, hid = weighted.size()
        weighted = weighted.transpose(-3, -2)
        weighted = weighted.reshape(*dims, seq, n_heads * hid)
        return self.projection(weighted)


class SelfAttention(nn.Module):
    def __init__(self, hidden_dim: int, num_heads: int = 4, widening_factor: int = 2):
        super().__init__()
        self.layer_norm = nn.LayerNorm(hidden_dim)
        self.qkv_layer_norm = nn.LayerNorm(hidden_dim)
        self.attention = MultiHeadAttention(hidden_dim, hidden_dim, num_heads=num_heads)
        self.mlp = FeedForward(hidden_dim, widening_factor)

    def forward(self, x: torch.Tensor):
        x_norm = self.layer_norm(x)
        x = x + self.attention(x_norm, x_norm)
        x = x + self.mlp(self.qkv_layer_norm(x))
        return x


class CrossAttention(nn.Module):
    def __init__(self, kv_dim: int, q_dim: int, num_heads: int = 1, widening_factor: int = 1,
                 use_query_residual: bool = True):
        super().__init__()
        self.use_query_residual = use_query_residual
        self.kv_layer_norm = nn.LayerNorm(kv_dim)
        self.q_layer_norm = nn.LayerNorm(q_dim)
        self.qkv_layer_norm = nn.LayerNorm(q_dim)
        self.attention = MultiHeadAttention(kv_dim, q_dim, num_heads=num_heads)
        self.mlp = FeedForward(q_dim, widening_factor)

    def forward(self, inputs_kv: torch.Tensor, inputs_q: torch.Tensor):
        attention = self.attention(self.kv_layer_norm(inputs_kv), self.q_layer_norm(inputs_q))
        if self.use_query_residual:
            x = inputs_q + attention
        else:
            x = attention
        x = x + self.mlp(self.qkv_layer_norm(x))
        return x


class PerceiverIO(nn.Module):
    def __init__(self, input_dim=16, num_latents=8, latent_dim=64, num_classes=5, num_blocks=2):
        super().__init__()
        self.embedding = nn.Linear(input_dim, 32)
        self.position = nn.Parameter(torch.randn(50, 32) * 0.02)
        self.latents = nn.Parameter(torch.randn(num_latents, latent_dim))
        self.cross_attn = CrossAttention(32, latent_dim)
        self.self_attention_block = nn.ModuleList([
            SelfAttention(latent_dim) for _ in range(num_blocks)])
        self.query = nn.Parameter(torch.randn(1, latent_dim))
        self.decoder = CrossAttention(latent_dim, latent_dim, use_query_residual=False)
        self.projection = nn.Linear(latent_dim, num_classes)

    def forward(self, inputs: torch.Tensor):
        batch_size = inputs.size(0)
        x = self.embedding(inputs) + self.position
        latents = self.cross_attn(x, self.latents.repeat(batch_size, 1, 1))
        for layer in self.self_attention_block:
            latents = layer(latents)
        outputs = self.decoder(latents, self.query.repeat(batch_size, 1, 1))
        return self.projection(outputs).squeeze(dim=1)


def build():
    torch.manual_seed(0)
    return PerceiverIO()


def example_inputs():
    torch.manual_seed(1)
    return (torch.randn(16, 50, 16),)
