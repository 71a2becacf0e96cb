r"""Captions by a language model that is frozen; a mapping from the image is trained.

Source: https://github.com/kohjingyu/fromage/issues/6
Odd: All weights of the language model and of the image encoder are frozen; gradients pass through
    the first to the mapping and to the embedding, which has one new word.
"""

import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 16, 4, stride=4), nn.ReLU()).requires_grad_(False)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True)
        self.lm = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).requires_grad_(False)
        self.lm_head = nn.Linear(dim, vocab, bias=False).requires_grad_(False)
        self.input_embeddings = nn.Embedding(vocab, dim)
        self.visual_embeddings = nn.Linear(16, dim)

    def forward(self, image, caption):
        with torch.no_grad():
            features = self.visual(image).mean((2, 3))
        prefix = self.visual_embeddings(features).unsqueeze(1)
        x = torch.cat([prefix, self.input_embeddings(caption)], 1)
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.lm_head(self.lm(x, mask=mask, is_causal=True))


def build():
    return Captioner()


def example_inputs():
    return torch.randn(4, 3, 16, 16), torch.randint(0, 50, (4, 9))
