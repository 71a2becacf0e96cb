r"""A captioner that reads the features of its image encoder from a forward hook.

Source: https://github.com/lucidrains/CoCa-pytorch/issues/6
Fault: the hook stores a detached copy, so the image encoder gets no gradient from the caption
    loss.
Cause: detach|\bhook|extractor.*(copy|detach|clone)
Place: extractor|hook|img_encoder
"""

import torch
from torch import nn


class Extractor(nn.Module):
    def __init__(self, vit, layer):
        super().__init__()
        self.vit = vit
        self.latents = None
        layer.register_forward_hook(self._hook)

    def _hook(self, _module, _inputs, output):
        self.latents = output.clone().detach()  # here

    def forward(self, img):
        self.vit(img)
        return self.latents


class TinyCoCa(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        patches = nn.Sequential(nn.Conv2d(3, dim, 4, stride=4), nn.Flatten(2))
        norm = nn.LayerNorm(4)
        self.img_encoder = Extractor(nn.Sequential(patches, norm, nn.Linear(4, 4)), norm)
        self.token_emb = nn.Embedding(vocab, dim)
        self.cross = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.to_logits = nn.Linear(dim, vocab)

    def forward(self, images, tokens):
        memory = self.img_encoder(images).transpose(1, 2)
        text = self.token_emb(tokens)
        attended, _ = self.cross(text, memory, memory)
        return self.to_logits(text + attended)


def build():
    return TinyCoCa()


def example_inputs():
    return (
        torch.randn(4, 3, 8, 8),
        torch.randint(0, 30, (4, 6)),
    )
