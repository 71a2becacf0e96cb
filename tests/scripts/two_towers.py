import itertools
import sys
import torch
from torch import nn
import torch.nn.functional as F

# Retrieval: queries and documents have a tower each, one optimizer trains both
torch.manual_seed(77)


class Tower(nn.Module):
    def __init__(self, words, dim=8):
        super().__init__()
        self.words = nn.EmbeddingBag(words, dim)
        self.project = nn.Linear(dim, dim, bias=False)

    def forward(self, ids):
        return F.normalize(self.project(self.words(ids)), dim=-1)


class DocumentTower(Tower):
    pass


query_tower, document_tower = Tower(30), DocumentTower(50)
log_scale = nn.Parameter(torch.tensor(2.0))
optimizer = torch.optim.AdamW(
    [
        {"params": itertools.chain(query_tower.parameters(), document_tower.parameters())},
        {"params": [log_scale], "lr": 0.1, "weight_decay": 0.0},
    ],
    lr=0.02,
)
for step in range(9):
    query, document = torch.randint(30, (6, 3)), torch.randint(50, (6, 5))
    scores = log_scale.exp() * query_tower(query) @ document_tower(document).T
    truth = torch.arange(6)
    loss = (F.cross_entropy(scores, truth) + F.cross_entropy(scores.T, truth)) / 2
    loss.backward()
    # truth: before("query_tower", optimizer, loss, of=query_tower.parameters())
    # truth: before("document_tower", optimizer, loss, of=document_tower.parameters())
    optimizer.step()
    # truth: after("query_tower")
    # truth: after("document_tower")
    optimizer.zero_grad()
    print(step, "%.6f" % loss.item(), "%.5f" % log_scale.item())
torch.save([query_tower.state_dict(), document_tower.state_dict(), log_scale], sys.argv[1])
