r"""TuckER: links between entities of a knowledge graph, scored by a core tensor.

Source: https://github.com/ibalazevic/TuckER/issues/17
Fault: both embeddings have padding_idx=0, although index 0 is a real entity and a real relation;
    the lookup gives these rows no gradient, so that relation 0 stays as it was drawn and entity 0
    learns nothing as a subject.
Cause: padding_?idx
    |(row|index|entry|entity)\b.*\b(0|zero|first)\b.*(grad|pad|learn|train|update|frozen|real|used)
    |(relation|embedding|token|id)\b.*\b(0|zero|first)\b.*(grad|pad|learn|train)
    |(relation|embedding|token|id)\b.*\b(0|zero|first)\b.*(update|frozen|real|used)
    |pad\w*.*(real|valid|used|row|index|entity|relation|occurs)
Place: \bE\b|\bR\b|embedding|padding_idx
"""
import torch
import torch.nn as nn
from torch.nn.init import xavier_normal_

ENTITIES, RELATIONS = 30, 6


class Data:
    """a small world: relation r leads from entity e to one or two others"""

    def __init__(self, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.entities = ["e%d" % i for i in range(ENTITIES)]
        self.relations = ["r%d" % i for i in range(RELATIONS)]
        group = torch.arange(ENTITIES) % 5
        target = torch.randint(0, 5, (5, RELATIONS), generator=g)
        triples = []
        for e in range(ENTITIES):
            for r in range(RELATIONS):
                goal = int(target[group[e], r])
                for t in range(goal, ENTITIES, 10):
                    triples.append((e, r, t))
        self.triples = torch.tensor(triples)

    def er_vocab(self):
        vocab = {}
        for e, r, t in self.triples.tolist():
            vocab.setdefault((e, r), []).append(t)
        return vocab


class TuckER(torch.nn.Module):
    def __init__(self, d, d1, d2, input_dropout=0.1, hidden_dropout1=0.1, hidden_dropout2=0.1,
                 label_smoothing=0.1):
        super(TuckER, self).__init__()

        self.E = torch.nn.Embedding(len(d.entities), d1, padding_idx=0)  # here
        self.R = torch.nn.Embedding(len(d.relations), d2, padding_idx=0)  # here
        self.W = torch.nn.Parameter(2 * torch.rand(d2, d1, d1) - 1)

        self.input_dropout = torch.nn.Dropout(input_dropout)
        self.hidden_dropout1 = torch.nn.Dropout(hidden_dropout1)
        self.hidden_dropout2 = torch.nn.Dropout(hidden_dropout2)
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.label_smoothing = label_smoothing

        self.bn0 = torch.nn.BatchNorm1d(d1)
        self.bn1 = torch.nn.BatchNorm1d(d1)
        self.init()

    def init(self):
        xavier_normal_(self.E.weight.data)
        xavier_normal_(self.R.weight.data)

    def score(self, e1_idx, r_idx):
        e1 = self.E(e1_idx)
        x = self.bn0(e1)
        x = self.input_dropout(x)
        x = x.view(-1, 1, e1.size(1))

        r = self.R(r_idx)
        W_mat = torch.mm(r, self.W.view(r.size(1), -1))
        W_mat = W_mat.view(-1, e1.size(1), e1.size(1))
        W_mat = self.hidden_dropout1(W_mat)

        x = torch.bmm(x, W_mat)
        x = x.view(-1, e1.size(1))
        x = self.bn1(x)
        x = self.hidden_dropout2(x)
        return torch.mm(x, self.E.weight.transpose(1, 0))

    def forward(self, e1_idx, r_idx, targets):
        predictions = self.score(e1_idx, r_idx)
        if self.label_smoothing:
            targets = ((1.0 - self.label_smoothing) * targets) + (1.0 / targets.size(1))
        return self.loss(predictions, targets)


def get_batch(er_vocab, er_vocab_pairs, idx, batch_size):
    batch = er_vocab_pairs[idx:idx + batch_size]
    targets = torch.zeros(len(batch), ENTITIES)
    for i, pair in enumerate(batch):
        targets[i, er_vocab[pair]] = 1.
    batch = torch.tensor(batch)
    return batch[:, 0], batch[:, 1], targets


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    triples = data.triples
    pred = torch.sigmoid(model.score(triples[:, 0], triples[:, 1]))
    known = data.er_vocab()
    ranks = []
    for i, (e, r, t) in enumerate(triples.tolist()):
        p = pred[i].clone()
        value = float(p[t])
        p[known[(e, r)]] = 0.0
        ranks.append(1 + int((p > value).sum()))
    model.train()
    return float((1.0 / torch.tensor(ranks).float()).mean())


def build():
    torch.manual_seed(0)
    return TuckER(Data(), 16, 8)


def example_inputs():
    vocab = Data().er_vocab()
    return get_batch(vocab, list(vocab), 0, 48)
