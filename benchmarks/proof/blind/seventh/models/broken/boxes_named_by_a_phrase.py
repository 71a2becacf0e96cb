r"""Boxes in a picture named by the words of a phrase: words and regions look at each other.

Source: https://github.com/huggingface/transformers/issues/47674
Fault: The sine codes of the words are cast to the type of their places, which are whole numbers,
    so nearly all of them become zero.
Cause: (int\w*|long|dtype|cast\w*|whole number|type).{0,140}(trunc|zero|round|sine?|posi|embed
    |cod|lost|lose|collaps|\b0\b)
    |(trunc\w*|round\w*|collaps\w*).{0,100}(int|long|zero|whole|dtype|type)
    |(posi\w*|code|sine?|embed\w*).{0,100}(trunc|int64|integer|dtype|zero|whole number)
Place: dtype|\bpos\w*|place\w*|sine_code
"""

import torch
from torch import nn


def sine_code(place, features, temperature=10000.0):
    step = torch.arange(features // 2, dtype=torch.float32)
    scale = temperature ** (2 * step / features)
    angle = place[..., None] / scale
    code = torch.cat([angle.sin(), angle.cos()], dim=-1)
    return code.to(place.dtype)  # here


class FusionLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.text_attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.image_to_text = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.text_to_image = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.norm3 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, image, text, place, padding):
        q = text + sine_code(place, text.shape[-1])
        text = self.norm1(text + self.text_attn(q, q, text, padding, need_weights=False)[0])
        seen = self.image_to_text(image, text, text, padding, need_weights=False)[0]
        text = self.norm2(text + self.text_to_image(text, image, image, need_weights=False)[0])
        image = self.norm3(image + seen)
        return image + self.ff(image), text


class PhraseBoxes(nn.Module):
    def __init__(self, vocab=90, dim=32, depth=2):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 8, stride=8)
        self.image_place = nn.Parameter(0.02 * torch.randn(16, dim))
        self.words = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(FusionLayer(dim, 4) for _ in range(depth))
        self.box = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, picture, phrase):
        padding = phrase == 0
        image = self.patch(picture).flatten(2).transpose(1, 2) + self.image_place
        text = self.words(phrase)
        place = torch.arange(phrase.shape[1]).expand(len(phrase), -1)
        for layer in self.layers:
            image, text = layer(image, text, place, padding)
        score = image @ text.transpose(1, 2)
        score = score.masked_fill(padding[:, None], -100.0)
        return score, torch.sigmoid(self.box(image))


def build():
    return PhraseBoxes()


def example_inputs():
    phrase = torch.randint(1, 90, (4, 7))
    phrase[1:3, 5:] = 0
    return torch.rand(4, 3, 32, 32), phrase
