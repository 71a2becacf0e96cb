r"""Encoder-decoder transformer in the way of a video course, on a made-up pair of languages.

Source: https://github.com/hkproj/pytorch-transformer/issues/5
Healthy: the decoder input starts with [SOS] and the label does not; that looks like a shift between
    outputs and labels, but position i of the output is the word after position i of the input.
"""
import math
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)

SPECIAL = ["[PAD]", "[SOS]", "[EOS]"]
src_words = SPECIAL + ["w%d" % i for i in range(20)]
tgt_words = SPECIAL + ["v%d" % i for i in range(20)]
src_id = {w: i for i, w in enumerate(src_words)}
tgt_id = {w: i for i, w in enumerate(tgt_words)}
mapping = list(range(20))
random.shuffle(mapping)


def make_pair():
    s = [random.randrange(20) for _ in range(random.randint(3, 7))]
    return ["w%d" % i for i in s], ["v%d" % mapping[i] for i in reversed(s)]


def causal_mask(size):
    return torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.int) == 0


class BilingualDataset(Dataset):
    def __init__(self, n, seq_len):
        self.ds = [make_pair() for _ in range(n)]
        self.seq_len = seq_len

    def __len__(self):
        return len(self.ds)

    def __getitem__(self, idx):
        src, tgt = self.ds[idx]
        enc, dec = [src_id[w] for w in src], [tgt_id[w] for w in tgt]
        enc_pad = self.seq_len - len(enc) - 2
        dec_pad = self.seq_len - len(dec) - 1
        # Add <s> and </s> token
        encoder_input = torch.tensor([1] + enc + [2] + [0] * enc_pad)
        # Add only <s> token to the decoder
        decoder_input = torch.tensor([1] + dec + [0] * dec_pad)
        # Add only </s> token
        label = torch.tensor(dec + [2] + [0] * dec_pad)
        return {
            "encoder_input": encoder_input,
            "decoder_input": decoder_input,
            "encoder_mask": (encoder_input != 0).unsqueeze(0).unsqueeze(0),
            "decoder_mask": (decoder_input != 0).unsqueeze(0) & causal_mask(self.seq_len),
            "label": label,
        }


class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask):
        def heads(x):
            return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)
        query, key, value = heads(self.w_q(q)), heads(self.w_k(k)), heads(self.w_v(v))
        scores = (query @ key.transpose(-2, -1)) / math.sqrt(self.d_k)
        scores = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
        x = (scores @ value).transpose(1, 2).contiguous().view(q.shape[0], -1, self.h * self.d_k)
        return self.w_o(x)


class Layer(nn.Module):
    def __init__(self, d_model, h, d_ff, cross):
        super().__init__()
        self.self_attn = MultiHeadAttentionBlock(d_model, h)
        self.cross_attn = MultiHeadAttentionBlock(d_model, h) if cross else None
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])

    def forward(self, x, mask, enc=None, enc_mask=None):
        n = self.norms[0](x)
        x = x + self.self_attn(n, n, n, mask)
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.norms[1](x), enc, enc, enc_mask)
        return x + self.ff(self.norms[2](x))


class Transformer(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, seq_len, d_model=48, N=1, h=4, d_ff=96):
        super().__init__()
        self.src_embed = nn.Embedding(src_vocab, d_model)
        self.tgt_embed = nn.Embedding(tgt_vocab, d_model)
        self.src_pos = nn.Parameter(0.1 * torch.randn(seq_len, d_model))
        self.tgt_pos = nn.Parameter(0.1 * torch.randn(seq_len, d_model))
        self.encoder = nn.ModuleList([Layer(d_model, h, d_ff, False) for _ in range(N)])
        self.decoder = nn.ModuleList([Layer(d_model, h, d_ff, True) for _ in range(N)])
        self.enc_norm, self.dec_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.projection = nn.Linear(d_model, tgt_vocab)

    def encode(self, src, src_mask):
        x = self.src_embed(src) + self.src_pos
        for layer in self.encoder:
            x = layer(x, src_mask)
        return self.enc_norm(x)

    def decode(self, enc, src_mask, tgt, tgt_mask):
        x = self.tgt_embed(tgt) + self.tgt_pos[:tgt.shape[1]]
        for layer in self.decoder:
            x = layer(x, tgt_mask, enc, src_mask)
        return self.dec_norm(x)

    def project(self, x):
        return self.projection(x)


def greedy_decode(model, source, source_mask, max_len):
    encoder_output = model.encode(source, source_mask)
    decoder_input = torch.full((source.shape[0], 1), tgt_id["[SOS]"])
    while decoder_input.size(1) < max_len:
        decoder_mask = causal_mask(decoder_input.size(1))
        out = model.decode(encoder_output, source_mask, decoder_input, decoder_mask)
        next_word = model.project(out[:, -1]).argmax(1, keepdim=True)
        decoder_input = torch.cat([decoder_input, next_word], dim=1)
    return decoder_input


def run_validation(model, ds, max_len):
    model.eval()
    batch = next(iter(DataLoader(ds, batch_size=len(ds))))
    with torch.no_grad():
        out = greedy_decode(model, batch["encoder_input"], batch["encoder_mask"], max_len)
    label = batch["label"][:, :max_len - 1]
    ok = ((out[:, 1:] == label) | (label == 0)).all(dim=1)
    return ok.float().mean().item()


if __name__ == "__main__":
    seq_len = 9
    train_ds, val_ds = BilingualDataset(2400, seq_len), BilingualDataset(100, seq_len)
    model = Transformer(len(src_words), len(tgt_words), seq_len)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-9)
    loss_fn = nn.CrossEntropyLoss(ignore_index=src_id["[PAD]"], label_smoothing=0.1)
    for epoch in range(5):
        model.train()
        for batch in DataLoader(train_ds, batch_size=50, shuffle=True):
            encoder_output = model.encode(batch["encoder_input"], batch["encoder_mask"])
            decoder_output = model.decode(encoder_output, batch["encoder_mask"],
                                          batch["decoder_input"], batch["decoder_mask"])
            proj_output = model.project(decoder_output)
            loss = loss_fn(proj_output.view(-1, len(tgt_words)), batch["label"].view(-1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        print("epoch %02d loss %.3f whole sentences right %.2f" % (
            epoch, loss.item(), run_validation(model, val_ds, seq_len)))
