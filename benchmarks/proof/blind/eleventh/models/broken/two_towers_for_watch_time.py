r"""A two-tower model that predicts how much of a film somebody watches.

Source: https://github.com/pyemma/Argo/pull/27
Fault: the predictions have the shape (B, 1) and the labels (B,); their difference is broadcast to a
    matrix (B, B), so that each prediction is compared with all labels and goes to their mean.
Cause: broadcast|shape.*(mismatch|differ|\(?\w+, ?1\)?|label|target)
    |\(?\w+, ?1\)?.*(label|target|\(?\w+,\)?)
    |(squeeze|unsqueeze|flatten).*(missing|need|label|target|prediction)
    |every (prediction|output).*(every|all) (label|target)
Place: predictions?|labels?|loss|squeeze|criterion|TwoTower|head|mse
"""
import torch
from torch import nn


class FeatureEncoder(nn.Module):
    """embeds the id columns and glues the dense columns to them"""

    def __init__(self, vocab_sizes, embed_dim, n_dense):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(v, embed_dim) for v in vocab_sizes])
        self.bn = nn.BatchNorm1d(n_dense)
        self.out_dim = embed_dim * len(vocab_sizes) + n_dense
        for emb in self.embeddings:
            nn.init.normal_(emb.weight, std=0.1)

    def forward(self, ids, dense):
        embs = [emb(ids[:, i]) for i, emb in enumerate(self.embeddings)]
        return torch.cat(embs + [self.bn(dense)], dim=1)


class Tower(nn.Module):
    def __init__(self, in_dim, hidden_dims, dropout=0.0):
        super().__init__()
        layers = []
        for dim in hidden_dims:
            layers += [nn.Linear(in_dim, dim), nn.ReLU(), nn.Dropout(dropout)]
            in_dim = dim
        self.mlp = nn.Sequential(*layers[:-2])

    def forward(self, x):
        return self.mlp(x)


class TwoTowerModel(nn.Module):
    def __init__(self, user_vocab=(40, 3, 7), item_vocab=(50, 6), embed_dim=8, hidden=(32, 16)):
        super().__init__()
        self.user_encoder = FeatureEncoder(user_vocab, embed_dim, 1)
        self.item_encoder = FeatureEncoder(item_vocab, embed_dim, 2)
        self.user_tower = Tower(self.user_encoder.out_dim, hidden)
        self.item_tower = Tower(self.item_encoder.out_dim, hidden)
        self.head = nn.Sequential(
            nn.Linear(3 * hidden[-1], 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )
        self.loss_fn = nn.MSELoss()

    def user_embedding(self, user_ids, user_dense):
        return self.user_tower(self.user_encoder(user_ids, user_dense))

    def item_embedding(self, item_ids, item_dense):
        return self.item_tower(self.item_encoder(item_ids, item_dense))

    def predict(self, batch):
        u = self.user_embedding(batch[0], batch[1])
        v = self.item_embedding(batch[2], batch[3])
        return self.head(torch.cat([u, v, u * v], dim=1))

    def forward(self, user_ids, user_dense, item_ids, item_dense, labels):
        predictions = self.predict((user_ids, user_dense, item_ids, item_dense))
        loss = self.loss_fn(predictions, labels)  # here
        return loss


def make_views(n=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    user_ids = torch.stack([torch.randint(0, 40, (n,), generator=g),
                            torch.randint(0, 3, (n,), generator=g),
                            torch.randint(0, 7, (n,), generator=g)], dim=1)
    item_ids = torch.stack([torch.randint(0, 50, (n,), generator=g),
                            torch.randint(0, 6, (n,), generator=g)], dim=1)
    user_dense = torch.randn(n, 1, generator=g)
    item_dense = torch.randn(n, 2, generator=g)
    liked = ((user_ids[:, 2] + item_ids[:, 1]) % 3 == 0).float()
    labels = 0.2 + 0.5 * liked + 0.2 * torch.sigmoid(user_dense[:, 0] * item_dense[:, 0])
    return user_ids, user_dense, item_ids, item_dense, labels


def evaluate(model, n=256):
    model.eval()
    *batch, labels = make_views(n, seed=99)
    with torch.no_grad():
        predictions = model.predict(batch).view(-1)
    model.train()
    return float(((predictions - labels) ** 2).mean())


def build():
    torch.manual_seed(0)
    return TwoTowerModel()


def example_inputs():
    return make_views(32)
