r"""A small generator fills in hidden words and a larger network tells which were replaced.

Source: https://github.com/lucidrains/electra-pytorch
Odd: Samples of the generator reach the second network without a gradient, the losses have the
    weights 1 and 50, and a filled-in word that happens to be right counts as an original.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(14)
VOCAB, LENGTH, MASK = 12, 12, 0
follow = torch.randint(1, VOCAB, (VOCAB, 2))


def sentences(count):
    words = [torch.randint(1, VOCAB, (count,))]
    for _ in range(LENGTH - 1):
        words.append(follow[words[-1], (torch.rand(count) < 0.1).long()])
    return torch.stack(words, 1)


class Encoder(nn.Module):
    def __init__(self, embedding, width, outputs):
        super().__init__()
        self.token = embedding
        self.place = nn.Parameter(0.1 * torch.randn(LENGTH, embedding.embedding_dim))
        self.up = nn.Linear(embedding.embedding_dim, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, outputs)

    def forward(self, ids):
        return self.head(self.body(self.up(self.token(ids) + self.place)))


shared = nn.Embedding(VOCAB, 32)
generator = Encoder(shared, 16, VOCAB)
discriminator = Encoder(shared, 48, 1)
parameters = {id(p): p for m in (generator, discriminator) for p in m.parameters()}
optimizer = torch.optim.Adam(parameters.values(), lr=4e-3)


def electra(ids, mask_prob=0.2):
    mask = torch.rand(ids.shape) < mask_prob
    logits = generator(ids.masked_fill(mask, MASK))
    mlm_loss = F.cross_entropy(logits[mask], ids[mask])
    with torch.no_grad():
        sampled = torch.distributions.Categorical(logits=logits[mask]).sample()
    filled = ids.clone()
    filled[mask] = sampled
    replaced = (filled != ids).float()
    scores = discriminator(filled).squeeze(-1)
    disc_loss = F.binary_cross_entropy_with_logits(scores, replaced)
    return mlm_loss, disc_loss, scores, replaced


for step in range(300):
    mlm_loss, disc_loss, scores, replaced = electra(sentences(48))
    loss = mlm_loss + 50.0 * disc_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            _, _, scores, replaced = electra(sentences(300))
        higher = scores[replaced == 1][:, None] > scores[replaced == 0][None]
        print(
            f"{step + 1} generator {mlm_loss.item():.3f} discriminator {disc_loss.item():.3f} "
            f"auc {higher.float().mean().item():.3f}"
        )
