"""Tagger whose transformer layers are skipped at random in the training, to be pruned later.

Source: https://github.com/facebookresearch/fairseq/tree/main/examples/layerdrop
Odd: In a step some layers are not used at all and get no gradient; after the training every other
    layer is taken out and the network still works.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(207)
VOCAB, LENGTH, TAGS = 30, 10, 3


class LayerDropModuleList(nn.ModuleList):
    def __init__(self, p, modules):
        super().__init__(modules)
        self.p = p

    def __iter__(self):
        dropout_probs = torch.empty(len(self)).uniform_()
        for i, m in enumerate(super().__iter__()):
            if not self.training or dropout_probs[i] > self.p:
                yield m


class Encoder(nn.Module):
    def __init__(self, layers=4, dim=32, layerdrop=0.3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.place = nn.Embedding(LENGTH, dim)
        blocks = [
            nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        ]
        self.layers = LayerDropModuleList(layerdrop, blocks)
        self.out = nn.Linear(dim, TAGS)

    def forward(self, tokens):
        x = self.embed(tokens) + self.place.weight
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def sentences(count=32):
    tokens = torch.randint(0, VOCAB, (count, LENGTH))
    tags = (tokens % TAGS + (tokens[:, :1] >= 15).long()) % TAGS
    return tokens, tags


@torch.no_grad()
def accuracy(model):
    model.eval()
    tokens, tags = sentences(500)
    return (model(tokens).argmax(-1) == tags).float().mean().item()


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for update in range(200):
    model.train()
    tokens, tags = sentences()
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 40 == 0:
        print(f"update {update} loss {loss.item():.4f}")
full = accuracy(model)
model.layers = LayerDropModuleList(0.0, [model.layers[0], model.layers[2]])
print(f"accuracy with four layers {full:.3f}, with two of them {accuracy(model):.3f}")
