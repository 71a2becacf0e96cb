r"""A language model over two languages with a language embedding and an output tied to the words.

Source: https://github.com/facebookresearch/XLM/pull/357
Healthy: the queries are divided by the root of the width of a head before the product, and not the
    scores after it; that is the same number. The padding is masked in the scores and zeroed after
    each layer, and one table serves for input and output.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

N_MAX_POSITIONS = 64


def Embedding(num_embeddings, embedding_dim, padding_idx=None):
    m = nn.Embedding(num_embeddings, embedding_dim, padding_idx=padding_idx)
    nn.init.normal_(m.weight, mean=0, std=embedding_dim ** -0.5)
    if padding_idx is not None:
        nn.init.constant_(m.weight[padding_idx], 0)
    return m


def Linear(in_features, out_features, bias=True):
    m = nn.Linear(in_features, out_features, bias)
    return m


def get_masks(slen, lengths, causal):
    """Generate hidden states mask, and optionally an attention mask."""
    assert lengths.max().item() <= slen
    bs = lengths.size(0)
    alen = torch.arange(slen, dtype=torch.long, device=lengths.device)
    mask = alen < lengths[:, None]

    # attention mask is the same as mask, or triangular inferior attention (causal)
    if causal:
        attn_mask = alen[None, None, :].repeat(bs, slen, 1) <= alen[None, :, None]
    else:
        attn_mask = mask
    return mask, attn_mask


class MultiHeadAttention(nn.Module):

    def __init__(self, n_heads, dim, dropout):
        super().__init__()
        self.dim = dim
        self.n_heads = n_heads
        self.dropout = dropout
        assert self.dim % self.n_heads == 0

        self.q_lin = Linear(dim, dim)
        self.k_lin = Linear(dim, dim)
        self.v_lin = Linear(dim, dim)
        self.out_lin = Linear(dim, dim)

    def forward(self, input, mask):
        """Self-attention"""
        bs, qlen, dim = input.size()
        n_heads = self.n_heads
        dim_per_head = dim // n_heads
        mask_reshape = (bs, 1, qlen, qlen) if mask.dim() == 3 else (bs, 1, 1, qlen)

        def shape(x):
            """ projection """
            return x.view(bs, -1, self.n_heads, dim_per_head).transpose(1, 2)

        def unshape(x):
            """ compute context """
            return x.transpose(1, 2).contiguous().view(bs, -1, self.n_heads * dim_per_head)

        q = shape(self.q_lin(input))
        k = shape(self.k_lin(input))
        v = shape(self.v_lin(input))

        q = q / math.sqrt(dim_per_head)
        scores = torch.matmul(q, k.transpose(2, 3))
        mask = (mask == 0).view(mask_reshape).expand_as(scores)
        scores.masked_fill_(mask, -float('inf'))

        weights = F.softmax(scores.float(), dim=-1).type_as(scores)
        weights = F.dropout(weights, p=self.dropout, training=self.training)
        context = torch.matmul(weights, v)
        context = unshape(context)
        return self.out_lin(context)


class TransformerFFN(nn.Module):

    def __init__(self, in_dim, dim_hidden, out_dim, dropout):
        super().__init__()
        self.dropout = dropout
        self.lin1 = Linear(in_dim, dim_hidden)
        self.lin2 = Linear(dim_hidden, out_dim)

    def forward(self, input):
        x = F.gelu(self.lin1(input))
        x = self.lin2(x)
        x = F.dropout(x, p=self.dropout, training=self.training)
        return x


class TransformerModel(nn.Module):

    def __init__(self, n_words=60, n_langs=2, dim=48, n_heads=4, n_layers=2, dropout=0.1,
                 pad_index=2, causal=True):
        super().__init__()
        self.pad_index = pad_index
        self.dropout = dropout
        self.causal = causal
        self.position_embeddings = Embedding(N_MAX_POSITIONS, dim)
        self.lang_embeddings = Embedding(n_langs, dim)
        self.embeddings = Embedding(n_words, dim, padding_idx=pad_index)
        self.layer_norm_emb = nn.LayerNorm(dim, eps=1e-12)
        self.attentions = nn.ModuleList()
        self.layer_norm1 = nn.ModuleList()
        self.ffns = nn.ModuleList()
        self.layer_norm2 = nn.ModuleList()
        for layer_id in range(n_layers):
            self.attentions.append(MultiHeadAttention(n_heads, dim, dropout))
            self.layer_norm1.append(nn.LayerNorm(dim, eps=1e-12))
            self.ffns.append(TransformerFFN(dim, dim * 4, dim, dropout))
            self.layer_norm2.append(nn.LayerNorm(dim, eps=1e-12))
        self.proj = nn.Linear(dim, n_words, bias=True)
        self.proj.weight = self.embeddings.weight

    def forward(self, x, lengths, langs):
        bs, slen = x.size()
        mask, attn_mask = get_masks(slen, lengths, self.causal)

        tensor = self.embeddings(x)
        tensor = tensor + self.position_embeddings.weight[:slen].expand_as(tensor)
        tensor = tensor + self.lang_embeddings(langs)
        tensor = self.layer_norm_emb(tensor)
        tensor = F.dropout(tensor, p=self.dropout, training=self.training)
        tensor = tensor * mask.unsqueeze(-1).to(tensor.dtype)

        for i in range(len(self.attentions)):
            attn = self.attentions[i](tensor, attn_mask)
            attn = F.dropout(attn, p=self.dropout, training=self.training)
            tensor = tensor + attn
            tensor = self.layer_norm1[i](tensor)
            tensor = tensor + self.ffns[i](tensor)
            tensor = self.layer_norm2[i](tensor)
            tensor = tensor * mask.unsqueeze(-1).to(tensor.dtype)

        # the next word, at all places that have one
        pred_mask = alive = mask[:, 1:]
        y = x[:, 1:].masked_select(pred_mask)
        scores = self.proj(tensor[:, :-1][alive])
        return F.cross_entropy(scores, y)


def build():
    torch.manual_seed(0)
    return TransformerModel()


def example_inputs():
    torch.manual_seed(1)
    follow = torch.stack([torch.randint(3, 60, (60,)), torch.randint(3, 60, (60,))])
    langs = torch.arange(16) % 2
    x = [torch.randint(3, 60, (16,))]
    for _ in range(19):
        x.append(follow[langs, x[-1]])
    x = torch.stack(x, 1)
    lengths = torch.randint(8, 21, (16,))
    lengths[0] = 20
    x[torch.arange(20) >= lengths[:, None]] = 2
    return x, lengths, langs.unsqueeze(1).expand(16, 20)
