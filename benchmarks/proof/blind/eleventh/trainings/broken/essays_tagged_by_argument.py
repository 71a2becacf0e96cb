r"""A transformer that tags each word of an essay as claim, premise or none, with a trainer class.

Source: https://github.com/namiyousef/argument-mining/issues/48
Fault: the learning rate is far too large for a transformer with Adam; after the first batches all
    words get the same class.
Cause: (learning.?rate|\blr\b|step size)\b.*(too|large|high|big|reduce|lower|smaller|decrease
    |overshoot|excessive|far)
    |(too|very|excessively) (large|high|big|aggressive) (a )?(learning.?rate|\blr\b|steps?
    |updates?)
    |(lower|reduce|decrease|smaller)\b.*(learning.?rate|\blr\b|step size)
    |(updates?|steps?)\b.*(larger than|as large as|huge|too large|times)\b.*(weights?|parameters?)
Place: lr|learning_rate|optimizer|Adam
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
np.random.seed(8)

LABELS = ['None', 'Claim', 'Premise']
VOCAB = 80
MAX_LEN = 24


class EssayDataset(Dataset):
    """claims open with a stance word, premises with a reason word"""

    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.rows = []
        for _ in range(n):
            words, tags = [], []
            while len(words) < MAX_LEN:
                kind = rng.choice(3, p=[0.4, 0.3, 0.3])
                length = rng.randint(3, 6)
                opener = {0: rng.randint(10, 20), 1: rng.randint(0, 5), 2: rng.randint(5, 10)}[kind]
                words += [opener] + list(rng.randint(20, VOCAB, length))
                tags += [kind] * (length + 1)
            self.rows.append((words[:MAX_LEN], tags[:MAX_LEN]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, tags = self.rows[i]
        return torch.tensor(words), torch.tensor(tags)


class TaggerModel(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(MAX_LEN, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, len(LABELS))

    def forward(self, ids):
        h = self.embed(ids) + self.position(torch.arange(ids.size(1)))
        return self.classifier(self.encoder(h))


def confusion(y_true, y_pred):
    m = np.zeros((3, 3), dtype=int)
    for t, p in zip(y_true, y_pred):
        m[t, p] += 1
    return m


def macro_f1(m):
    out = []
    for c in range(3):
        tp = m[c, c]
        out.append(2 * tp / max(m[c].sum() + m[:, c].sum(), 1))
    return float(np.mean(out))


class Trainer:
    def __init__(self, model, train_loader, test_loader, n_epochs, learning_rate):
        self.model = model
        self.train_loader, self.test_loader = train_loader, test_loader
        self.n_epochs = n_epochs
        self.optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        self.loss = nn.CrossEntropyLoss()

    def train(self):
        for epoch in range(self.n_epochs):
            self.model.train()
            running = 0.0
            for i, (ids, tags) in enumerate(self.train_loader):
                self.optimizer.zero_grad()
                out = self.model(ids)
                loss = self.loss(out.reshape(-1, 3), tags.reshape(-1))
                loss.backward()
                self.optimizer.step()
                running += loss.item()
                if i % 20 == 0:
                    pred = out.argmax(-1)
                    print('epoch %d batch %d loss %.4f classes in this output %s' % (
                        epoch, i, loss.item(), sorted(set(pred.reshape(-1).tolist()))))
            m = self.test()
            print('EPOCH %d mean loss %.4f macro f1 %.3f' % (
                epoch, running / len(self.train_loader), macro_f1(m)))

    def test(self):
        self.model.eval()
        ys, ps = [], []
        with torch.no_grad():
            for ids, tags in self.test_loader:
                ps += self.model(ids).argmax(-1).reshape(-1).tolist()
                ys += tags.reshape(-1).tolist()
        return confusion(ys, ps)


if __name__ == '__main__':
    BATCH_SIZE = 16
    EPOCHS = 3
    LEARNING_RATE = 0.05  # here

    train_loader = DataLoader(EssayDataset(640, 0), batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(EssayDataset(120, 1), batch_size=60)
    model = TaggerModel()
    trainer = Trainer(model, train_loader, test_loader, EPOCHS, LEARNING_RATE)
    trainer.train()
    print(LABELS)
    print(trainer.test())
