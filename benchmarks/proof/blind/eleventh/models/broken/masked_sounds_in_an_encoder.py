r"""The transformer encoder of a masked autoencoder for sounds, put together from factories.

Source: https://github.com/habla-liaa/encodecmae/issues/3
Fault: the feed-forward layer is made once, before the list of layers, while attention is made anew
    for each; all transformer layers use one and the same feed-forward layer.
Cause: (ff|ff_?layer|feed.?forward|mlp)s?.*(shared?|sharing|same|once|tied)
    |(block|layer|module|weight|parameter)s?.*(shared?|sharing|same|once|tied)
    |(ff|ff_?layer|feed.?forward|mlp)s?.*(reused?|identical|single|one object|several)
    |(block|layer|module|weight|parameter)s?.*(reused?|identical|single|one object|several)
    |(shared?|sharing|same|tied|reused?|identical|single|one).*(ff|feed.?forward|mlp|object)
    |(shared?|sharing|same|tied).*(instance|layer|module|weight|parameter)
    |(reused?|identical|single|one).*(instance|layer|module|weight|parameter)
Place: ff_layer|encoder_layers|TransformerLayer|ff\b
"""
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, model_dim, num_heads, dropout=0.0):
        super().__init__()
        self.model_dim = model_dim
        self.num_heads = num_heads
        self.qkv = nn.Linear(model_dim, 3 * model_dim)
        self.output_layer = nn.Linear(model_dim, model_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        att = self.dropout(att.softmax(-1))
        return self.output_layer((att @ v).transpose(1, 2).reshape(B, T, self.model_dim))


class TransformerLayer(nn.Module):
    def __init__(self, model_dim, attention_layer, ff_layer, norm_layer, norm_type='pre'):
        super().__init__()
        self.attention_layer = attention_layer
        self.ff_layer = ff_layer
        self.norm1 = norm_layer(model_dim)
        self.norm2 = norm_layer(model_dim)
        self.norm_type = norm_type

    def forward(self, x):
        if self.norm_type == 'pre':
            x = x + self.attention_layer(self.norm1(x))
            x = x + self.ff_layer(self.norm2(x))
        else:
            x = self.norm1(x + self.attention_layer(x))
            x = self.norm2(x + self.ff_layer(x))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, model_dim=32, num_layers=4, attention_layer=None, ff_layer=None,
                 norm_layer=nn.LayerNorm, norm_type='pre', ff_dim=64):
        super().__init__()
        if attention_layer is None:
            attention_layer = lambda: MultiHeadAttention(model_dim, 4)
        if ff_layer is None:
            ff_layer = nn.Sequential(nn.Linear(model_dim, ff_dim),  # here
                                     nn.ReLU(),
                                     nn.Linear(ff_dim, model_dim))
        else:
            ff_layer = ff_layer()  # here
        self.encoder_layers = nn.ModuleList([TransformerLayer(model_dim,
                                                              attention_layer(),
                                                              ff_layer,  # here
                                                              norm_layer,
                                                              norm_type)
                                             for i in range(num_layers)])

    def forward(self, x):
        for layer in self.encoder_layers:
            x = layer(x)
        return x


class SinusoidalPositionalEmbeddings(nn.Module):
    def __init__(self, embedding_dim, max_len=128):
        super().__init__()
        pos = torch.arange(max_len).float()[:, None]
        freq = 10000 ** (-torch.arange(0, embedding_dim, 2).float() / embedding_dim)
        pe = torch.zeros(max_len, embedding_dim)
        pe[:, 0::2] = torch.sin(pos * freq)
        pe[:, 1::2] = torch.cos(pos * freq)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return x + self.pe[None, :x.shape[1]]


class EncodecMAE(nn.Module):
    def __init__(self, num_codes=20, in_dim=16, model_dim=32, num_layers=4):
        super().__init__()
        self.proj = nn.Linear(in_dim, model_dim)
        self.mask_token = nn.Parameter(torch.randn(model_dim) * 0.02)
        self.positional_encoder = SinusoidalPositionalEmbeddings(model_dim)
        self.encoder = TransformerEncoder(model_dim, num_layers)
        self.norm = nn.LayerNorm(model_dim)
        self.head = nn.Linear(model_dim, num_codes)

    def forward(self, wav_features, mask, targets):
        x = self.proj(wav_features)
        x = torch.where(mask[..., None], self.mask_token, x)
        x = self.norm(self.encoder(self.positional_encoder(x)))
        logits = self.head(x)
        return nn.functional.cross_entropy(logits[mask], targets[mask])


CODEBOOK = torch.randn(20, 16, generator=torch.Generator().manual_seed(7))


def make_sounds(n=8, length=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    start = torch.randint(0, 20, (n, 1), generator=g)
    step = torch.randint(1, 4, (n, 1), generator=g)
    codes = (start + step * torch.arange(length)) % 20
    feats = CODEBOOK[codes] + 0.1 * torch.randn(n, length, 16, generator=g)
    mask = torch.rand(n, length, generator=g) < 0.4
    return feats, mask, codes


def build():
    torch.manual_seed(0)
    return EncodecMAE()


def example_inputs():
    return make_sounds()
