"""A decoder-only language model like GPT-2, with tied embeddings."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Causal multi-head attention: a position attends to itself and earlier positions."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, width) to (B, T, width)."""
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(
            query, key, value, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, width) to (B, T, width)."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    """Predict the next token; with labels (the same token ids) also return the mean loss."""

    def __init__(
        self,
        vocabulary: int = 50,
        context: int = 16,
        width: int = 32,
        heads: int = 4,
        depth: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        self.lm_head.weight = self.token_embedding.weight

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        """Map ids (B, T) to logits (B, T, vocabulary), and to a scalar loss if there are labels."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.dropout(self.token_embedding(input_ids) + self.position_embedding(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.norm(x))
        if labels is None:
            return {"logits": logits}
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


def example_inputs() -> dict[str, Tensor]:
    """Return two sequences of 12 tokens, which are also the labels."""
    input_ids = torch.randint(0, 50, (2, 12))
    return {"input_ids": input_ids, "labels": input_ids.clone()}


# Parameters
#   token_embedding 50*32 = 1600, which is lm_head.weight too: counted once     1600
#   position_embedding 16*32                                                     512
#   a block: norm1 32+32 = 64, qkv 32*96 + 96 = 3168, out 32*32 + 32 = 1056,
#     norm2 64, mlp 32*128 + 128 = 4224 and 128*32 + 32 = 4128                 12704
#   norm 32+32                                                                    64
EXPECTED = {
    "type": "TinyGPT",
    "parameters": 27584,  # 1600 + 512 + 2 * 12704 + 64
    "trainable_parameters": 27584,
    "buffers": 0,
    "calls": [
        (
            "",
            "TinyGPT",
            0,
            0,
            [(".input_ids", (2, 12)), (".labels", (2, 12))],
            [(".loss", ()), (".logits", (2, 12, 50))],
        ),
        ("token_embedding", "Embedding", 0, 1600, [("[0]", (2, 12))], [("", (2, 12, 32))]),
        ("position_embedding", "Embedding", 0, 512, [("[0]", (12,))], [("", (12, 32))]),
        ("dropout", "Dropout", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0", "Block", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.norm1", "LayerNorm", 0, 64, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.attention", "SelfAttention", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.attention.qkv", "Linear", 0, 3168, [("[0]", (2, 12, 32))], [("", (2, 12, 96))]),
        ("blocks.0.attention.out", "Linear", 0, 1056, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.norm2", "LayerNorm", 0, 64, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.mlp", "Sequential", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.0.mlp.0", "Linear", 0, 4224, [("[0]", (2, 12, 32))], [("", (2, 12, 128))]),
        ("blocks.0.mlp.1", "GELU", 0, 0, [("[0]", (2, 12, 128))], [("", (2, 12, 128))]),
        ("blocks.0.mlp.2", "Linear", 0, 4128, [("[0]", (2, 12, 128))], [("", (2, 12, 32))]),
        ("blocks.0.mlp.3", "Dropout", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1", "Block", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.norm1", "LayerNorm", 0, 64, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.attention", "SelfAttention", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.attention.qkv", "Linear", 0, 3168, [("[0]", (2, 12, 32))], [("", (2, 12, 96))]),
        ("blocks.1.attention.out", "Linear", 0, 1056, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.norm2", "LayerNorm", 0, 64, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.mlp", "Sequential", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("blocks.1.mlp.0", "Linear", 0, 4224, [("[0]", (2, 12, 32))], [("", (2, 12, 128))]),
        ("blocks.1.mlp.1", "GELU", 0, 0, [("[0]", (2, 12, 128))], [("", (2, 12, 128))]),
        ("blocks.1.mlp.2", "Linear", 0, 4128, [("[0]", (2, 12, 128))], [("", (2, 12, 32))]),
        ("blocks.1.mlp.3", "Dropout", 0, 0, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("norm", "LayerNorm", 0, 64, [("[0]", (2, 12, 32))], [("", (2, 12, 32))]),
        ("lm_head", "Linear", 0, 1600, [("[0]", (2, 12, 32))], [("", (2, 12, 50))]),
    ],
    "uncalled": [],
    "shared": {"token_embedding.weight": ["lm_head.weight"]},
}
