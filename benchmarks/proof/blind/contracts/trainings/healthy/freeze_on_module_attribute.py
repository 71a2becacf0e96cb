r"""A training of `TopicNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(61)
V, E = 50, 12
topic_of_word = torch.randint(0, 3, (V,))
pretrained = torch.randn(3, E)[topic_of_word] + 0.3 * torch.randn(V, E)


def documents(n):
    topic = torch.randint(0, 3, (n,))
    docs = []
    for t in topic:
        own = (topic_of_word == t).nonzero().flatten()
        docs.append(torch.cat([own[torch.randint(len(own), (6,))], torch.randint(V, (6,))]))
    return torch.stack(docs), topic


class TopicNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(pretrained.clone(), freeze=False)
        self.fc = nn.Linear(E, 3)

    def forward(self, ids):
        return self.fc(self.embedding(ids).mean(1))


model = TopicNet()
model.embedding.requires_grad_(False)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
docs, topic = documents(80)
for step in range(40):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(docs), topic)
    loss.backward()
    opt.step()
print("loss", loss.item(), "moved", (model.embedding.weight - pretrained).norm().item())
