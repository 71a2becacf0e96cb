r"""Chance of a click on an advertisement, from field embeddings and instance-guided masks.

Source: https://github.com/reczoo/FuxiCTR/issues/23
Fault: The layer norm of the embeddings takes its statistics over all the fields and the embedding
    together, where each field's embedding is to be normalised by itself.
Cause: (layer.?norm|normali[sz]\w*|statistic\w*|mean).{0,120}(fields|two (last )?(dim|ax)|both|all the|across|together|joint)
    |(normalized_shape|num_fields).{0,100}(only|instead|should|wrong|includes|embedding_dim)
    |each (field|embedding).{0,80}(by itself|on its own|separately|own|alone)
Place: emb_norm|LayerNorm|num_fields|normalized_shape
"""

import torch
from torch import nn


class MaskBlock(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, reduction=2, dropout=0.1):
        super().__init__()
        self.mask_layer = nn.Sequential(
            nn.Linear(input_dim, int(input_dim * reduction)),
            nn.ReLU(),
            nn.Linear(int(input_dim * reduction), hidden_dim),
        )
        self.hidden_layer = nn.Sequential(
            nn.Linear(hidden_dim, output_dim, bias=False),
            nn.LayerNorm(output_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
        )

    def forward(self, v_emb, v_hidden):
        return self.hidden_layer(self.mask_layer(v_emb) * v_hidden)


class MaskNet(nn.Module):
    def __init__(self, sizes=(40, 12, 7, 25, 9), embedding_dim=8, units=(32, 16)):
        super().__init__()
        num_fields = len(sizes)
        self.embeddings = nn.ModuleList(nn.Embedding(n, embedding_dim) for n in sizes)
        self.emb_norm = nn.LayerNorm([num_fields, embedding_dim])  # here
        width = num_fields * embedding_dim
        dims = [width, *units]
        self.blocks = nn.ModuleList(
            MaskBlock(width, dims[i], dims[i + 1]) for i in range(len(units))
        )
        self.fc = nn.Linear(units[-1], 1)

    def forward(self, fields):
        emb = torch.stack([e(fields[:, i]) for i, e in enumerate(self.embeddings)], 1)
        hidden = self.emb_norm(emb).flatten(1)
        emb = emb.flatten(1)
        for block in self.blocks:
            hidden = block(emb, hidden)
        return torch.sigmoid(self.fc(hidden)).squeeze(1)


def build():
    return MaskNet()


def example_inputs():
    return (torch.stack([torch.randint(0, n, (16,)) for n in (40, 12, 7, 25, 9)], 1),)
