r"""The transformer of a Korean tutorial: it builds its own masks from the padding indices.

Source: https://github.com/hyunwoongko/transformer/issues/11
Fault: the mask of the target is made with the padding index of the source; the two vocabularies
    have different ones, so that a real word of the target is hidden and its padding is not.
Cause: (pad|mask).*(src|source|trg|target|wrong|index|other|different|mismatch|same)
    |(src|source|trg|target).*(pad|mask)|trg_pad_idx.*(unused|never|not used)
Place: mask|pad|trg_pad_idx|src_pad_idx|self_attention|enc_dec
"""
import math

import torch
from torch import nn

SRC_VOCAB, TRG_VOCAB = 14, 16
SRC_PAD, TRG_PAD = 4, 1
BOS = 0
MAX_LEN = 9


class PostionalEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super(PostionalEncoding, self).__init__()
        encoding = torch.zeros(max_len, d_model)
        pos = torch.arange(0, max_len).float().unsqueeze(dim=1)
        _2i = torch.arange(0, d_model, step=2).float()
        encoding[:, 0::2] = torch.sin(pos / (10000 ** (_2i / d_model)))
        encoding[:, 1::2] = torch.cos(pos / (10000 ** (_2i / d_model)))
        self.register_buffer('encoding', encoding)

    def forward(self, x):
        return self.encoding[:x.size(1), :]


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, max_len, d_model, drop_prob):
        super(TransformerEmbedding, self).__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = PostionalEncoding(d_model, max_len)
        self.drop_out = nn.Dropout(p=drop_prob)

    def forward(self, x):
        return self.drop_out(self.tok_emb(x) + self.pos_emb(x))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super(MultiHeadAttention, self).__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def split(self, tensor):
        batch_size, length, d_model = tensor.size()
        return tensor.view(batch_size, length, self.n_head, d_model // self.n_head).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = (q @ k.transpose(2, 3)) / math.sqrt(q.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        out = torch.softmax(score, dim=-1) @ v
        batch_size, head, length, d_tensor = out.size()
        return self.w_concat(out.transpose(1, 2).reshape(batch_size, length, head * d_tensor))


class PositionwiseFeedForward(nn.Sequential):
    def __init__(self, d_model, hidden, drop_prob=0.0):
        super().__init__(nn.Linear(d_model, hidden), nn.ReLU(), nn.Dropout(drop_prob),
                         nn.Linear(hidden, d_model))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head):
        super(EncoderLayer, self).__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = PositionwiseFeedForward(d_model, ffn_hidden)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, s_mask):
        x = self.norm1(x + self.attention(x, x, x, s_mask))
        return self.norm2(x + self.ffn(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head):
        super(DecoderLayer, self).__init__()
        self.self_attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.enc_dec_attention = MultiHeadAttention(d_model, n_head)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = PositionwiseFeedForward(d_model, ffn_hidden)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, dec, enc, t_mask, s_mask):
        x = self.norm1(dec + self.self_attention(dec, dec, dec, t_mask))
        x = self.norm2(x + self.enc_dec_attention(x, enc, enc, s_mask))
        return self.norm3(x + self.ffn(x))


class Transformer(nn.Module):
    def __init__(self, src_pad_idx, trg_pad_idx, enc_voc_size, dec_voc_size, d_model=32, n_head=4,
                 max_len=32, ffn_hidden=64, n_layers=2, drop_prob=0.0):
        super().__init__()
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx
        self.enc_emb = TransformerEmbedding(enc_voc_size, max_len, d_model, drop_prob)
        self.dec_emb = TransformerEmbedding(dec_voc_size, max_len, d_model, drop_prob)
        self.encoder = nn.ModuleList(
            [EncoderLayer(d_model, ffn_hidden, n_head) for _ in range(n_layers)])
        self.decoder = nn.ModuleList(
            [DecoderLayer(d_model, ffn_hidden, n_head) for _ in range(n_layers)])
        self.linear = nn.Linear(d_model, dec_voc_size)

    def make_pad_mask(self, q, k):
        len_q, len_k = q.size(1), k.size(1)
        k = k.ne(self.src_pad_idx).unsqueeze(1).unsqueeze(2)  # here
        k = k.repeat(1, 1, len_q, 1)
        q = q.ne(self.src_pad_idx).unsqueeze(1).unsqueeze(3)  # here
        q = q.repeat(1, 1, 1, len_k)
        return k & q

    def make_no_peak_mask(self, q, k):
        return torch.tril(torch.ones(q.size(1), k.size(1))).type(torch.BoolTensor)

    def forward(self, src, trg):
        src_mask = self.make_pad_mask(src, src)
        src_trg_mask = self.make_pad_mask(trg, src)
        trg_mask = self.make_pad_mask(trg, trg) * self.make_no_peak_mask(trg, trg)

        enc = self.enc_emb(src)
        for layer in self.encoder:
            enc = layer(enc, src_mask)
        out = self.dec_emb(trg)
        for layer in self.decoder:
            out = layer(out, enc, trg_mask, src_trg_mask)
        return self.linear(out)


def make_pairs(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    src = torch.full((n, MAX_LEN), SRC_PAD)
    trg = torch.full((n, MAX_LEN + 1), TRG_PAD)
    trg[:, 0] = BOS
    words = [w for w in range(1, SRC_VOCAB) if w != SRC_PAD]
    for i in range(n):
        length = int(torch.randint(4, MAX_LEN + 1, (1,), generator=g))
        picks = torch.randint(0, len(words), (length,), generator=g).tolist()
        src[i, :length] = torch.tensor([words[p] for p in picks])
        trg[i, 1:length + 1] = torch.tensor([2 + p for p in picks]).flip(0)
    return src, trg[:, :-1], trg[:, 1:]


def build():
    torch.manual_seed(0)
    return Transformer(SRC_PAD, TRG_PAD, SRC_VOCAB, TRG_VOCAB)


def example_inputs():
    src, trg, _ = make_pairs(8)
    return src, trg
