r"""An encoder-decoder transformer from scratch, with the projections made per head.

Source: https://github.com/Khaliladib11/Transformer-from-scratch/issues/1
Fault: query and value are taken from the key tensor and go through the key's projection; the
    layers query and value are never used, and the decoder's cross attention does not see the
    decoder's own state.
Cause: (query|value).*(key|unused|not used|never|no gradient|without gradient|ignored|no effect)
    |\bkey\b.*(three|all|everywhere|instead|in place|again|shared)
    |(same|one|single) (projection|layer|tensor).*(query|key|value|three|all)
    |(unused|never used|not used|never called|dead).*(layer|module|parameter|weight|query|value)
    |(layer|module|parameter|weight)s?.*(unused|never used|not used|never called)
Place: query|value|SelfAttention|attention|\bkey\b
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 11
MAX_LEN = 7


class PositionalEmbedding(nn.Module):
    def __init__(self, max_len, embed_dim):
        super().__init__()
        pe = torch.zeros(max_len, embed_dim)
        for pos in range(max_len):
            for i in range(0, embed_dim, 2):
                pe[pos, i] = torch.sin(torch.tensor(pos / (10000 ** (i / embed_dim))))
                pe[pos, i + 1] = torch.cos(torch.tensor(pos / (10000 ** (i / embed_dim))))
        self.register_buffer('pe', pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class SelfAttention(nn.Module):
    def __init__(self, embed_dim=512, heads=8):
        super(SelfAttention, self).__init__()
        self.heads = heads
        self.embed_dim = embed_dim
        self.head = embed_dim // heads
        self.query = nn.Linear(self.head, self.head, bias=False)
        self.value = nn.Linear(self.head, self.head, bias=False)
        self.key = nn.Linear(self.head, self.head, bias=False)
        self.fc_out = nn.Linear(self.head * self.heads, embed_dim)

    def forward(self, query, key, value, mask=None):
        batch_size = key.size(0)
        k_len, q_len, v_len = key.size(1), query.size(1), value.size(1)
        key = key.reshape(batch_size, k_len, self.heads, self.head)
        query = key.reshape(batch_size, q_len, self.heads, self.head)  # here
        value = key.reshape(batch_size, v_len, self.heads, self.head)  # here

        key = self.key(key)
        query = self.key(query)  # here
        value = self.key(value)  # here

        product = torch.einsum("bqhd,bkhd->bhqk", [query, key])
        if mask is not None:
            product = product.masked_fill(mask == 0, float("-1e20"))
        scores = F.softmax(product / (self.head ** 0.5), dim=-1)
        scores = torch.einsum("bhqk,bkhd->bqhd", [scores, value])
        return self.fc_out(scores.reshape(batch_size, q_len, self.heads * self.head))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, heads, expansion_factor=2, dropout=0.0):
        super(TransformerBlock, self).__init__()
        self.attention = SelfAttention(embed_dim, heads)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_dim, expansion_factor * embed_dim),
            nn.ReLU(),
            nn.Linear(expansion_factor * embed_dim, embed_dim),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value):
        x = self.norm1(self.dropout(self.attention(query, key, value)) + query)
        return self.norm2(self.dropout(self.feed_forward(x)) + x)


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, heads, expansion_factor=2, dropout=0.0):
        super(DecoderBlock, self).__init__()
        self.attention = SelfAttention(embed_dim, heads)
        self.norm = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.transformer_block = TransformerBlock(embed_dim, heads, expansion_factor, dropout)

    def forward(self, x, enc_out, mask):
        query = self.dropout(self.norm(self.attention(x, x, x, mask) + x))
        return self.transformer_block(query, enc_out, enc_out)


class Transformer(nn.Module):
    def __init__(self, src_vocab=VOCAB, trg_vocab=VOCAB + 1, embed_dim=32, heads=4, blocks=2):
        super(Transformer, self).__init__()
        self.src_emb = nn.Embedding(src_vocab, embed_dim)
        self.trg_emb = nn.Embedding(trg_vocab, embed_dim)
        self.position = PositionalEmbedding(32, embed_dim)
        self.encoder = nn.ModuleList([TransformerBlock(embed_dim, heads) for _ in range(blocks)])
        self.decoder = nn.ModuleList([DecoderBlock(embed_dim, heads) for _ in range(blocks)])
        self.fc_out = nn.Linear(embed_dim, trg_vocab)

    def make_trg_mask(self, trg):
        batch_size, trg_len = trg.shape
        return torch.tril(torch.ones((trg_len, trg_len))).expand(batch_size, 1, trg_len, trg_len)

    def forward(self, source, target):
        mask = self.make_trg_mask(target)
        enc = self.position(self.src_emb(source))
        for layer in self.encoder:
            enc = layer(enc, enc, enc)
        out = self.position(self.trg_emb(target))
        for layer in self.decoder:
            out = layer(out, enc, mask)
        return self.fc_out(out)


def make_batch(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(0, VOCAB, (n, MAX_LEN), generator=g)
    trg = src.flip(1)
    bos = torch.full((n, 1), VOCAB)
    return src, torch.cat([bos, trg[:, :-1]], dim=1), trg


def build():
    torch.manual_seed(0)
    return Transformer()


def example_inputs():
    src, trg_in, _ = make_batch(8)
    return src, trg_in
