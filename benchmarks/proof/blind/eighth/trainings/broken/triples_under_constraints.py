r"""Tags of subject, relation and object in a sentence, with a constraint on their number.

Source: https://github.com/dair-iitd/openie6/issues/25
Fault: The loss of the constraint replaces the loss of the tags instead of being added to it.
Cause: const_loss|constraint.{0,80}(only|replac|overwrit|instead|alone|added)
    |loss\b.{0,60}(replaced|overwritten|lost|discarded|ignored|dropped|unused|not used|thrown away)
    |overwrit|(cross.entropy|tag|label)\w*.{0,60}(not|never|no longer|dropped|unused|ignored|lost)
Place: const_loss|\bloss\b|training_step
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(37)
TAGS = {"none": 0, "subject": 1, "relation": 2, "object": 3}
VOCAB, LENGTH = 50, 12
NOUNS, VERBS = range(0, 20), range(20, 30)


def sentences(count=64):
    words = torch.randint(30, VOCAB, (count, LENGTH))
    tags = torch.zeros(count, LENGTH, dtype=torch.long)
    places = torch.rand(count, LENGTH).topk(3, dim=1).indices.sort(1).values
    rows = torch.arange(count)
    for tag, kind in ((1, NOUNS), (2, VERBS), (3, NOUNS)):
        words[rows, places[:, tag - 1]] = torch.randint(kind.start, kind.stop, (count,))
        tags[rows, places[:, tag - 1]] = tag
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.labelling = nn.Linear(2 * dim, len(TAGS))

    def forward(self, words):
        return self.labelling(self.gru(self.embed(words))[0])


def constrained_loss(logits):
    expected = logits.softmax(-1)[..., 1:].sum(1)
    return F.relu(expected - 1).mean() + F.relu(1 - expected).mean()


class Model:
    def __init__(self, hparams):
        self.hparams = hparams
        self.tagger = Tagger()
        self.optimizer = torch.optim.Adam(self.tagger.parameters(), lr=hparams["lr"])

    def training_step(self, batch):
        words, tags = batch
        logits = self.tagger(words)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
        if self.hparams["constraints"]:
            const_loss = self.hparams["cweights"] * constrained_loss(logits)
            loss = const_loss  # here
        return loss

    def fit(self):
        for step in range(self.hparams["steps"]):
            loss = self.training_step(sentences())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 25 == 0:
                print(f"step {step} loss {loss.item():.4f}")

    @torch.no_grad()
    def test(self):
        words, tags = sentences(500)
        predicted = self.tagger(words).argmax(-1)
        hits = ((predicted == tags) & (tags > 0)).sum()
        return (2 * hits / ((predicted > 0).sum() + (tags > 0).sum())).item()


model = Model({"lr": 5e-3, "steps": 125, "constraints": True, "cweights": 0.5})
model.fit()
print(f"F1 of the tags {model.test():.3f}")
