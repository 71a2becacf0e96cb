"""Skip-gram with negative samples: sparse embeddings, SparseAdam and a dense scale with Adam."""

import json

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(33)


class SkipGramModel(nn.Module):
    def __init__(self, emb_size, emb_dimension):
        super().__init__()
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        nn.init.uniform_(self.u_embeddings.weight.data, -0.5 / emb_dimension, 0.5 / emb_dimension)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        score = torch.sum(emb_u * self.v_embeddings(pos_v), dim=1).clamp(-10, 10)
        neg = torch.bmm(self.v_embeddings(neg_v), emb_u.unsqueeze(2)).squeeze().clamp(-10, 10)
        return torch.mean(-F.logsigmoid(score) - torch.sum(F.logsigmoid(-neg), dim=1))


skip_gram_model = SkipGramModel(40, 8)
optimizer = optim.SparseAdam(list(skip_gram_model.parameters()), lr=0.02)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 150)
losses = []
for i in range(150):
    u = torch.randint(40, (32,))
    v = (u // 5) * 5 + torch.randint(5, (32,))
    neg = torch.randint(40, (32, 3))
    optimizer.zero_grad()
    loss = skip_gram_model.forward(u, v, neg)
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
    if i % 50 == 0:
        print(i, loss.item())
print("TRUTH", json.dumps({"skip_gram_model": ["SparseAdam", 150, losses[0], losses[-1]]}))
