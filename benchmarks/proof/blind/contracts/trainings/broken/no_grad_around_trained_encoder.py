r"""A training of `Encoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
Fault: The encoder's forward runs under no_grad although its parameters are in the optimizer and
    meant to be trained.
Cause: no_grad|(encoder|part|layer|param)\w*.{0,80}(no|never|not|without).{0,30}(grad|train|updat)
    |grad\w*.{0,60}(disabled|off|never|none|no )
"""

import torch
from torch import nn

torch.manual_seed(212)
V, T = 30, 12
polarity = torch.randn(V)
docs = torch.randint(V, (700, T))
mood = (polarity[docs].sum(1) > 0).long()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 16)
        self.gru = nn.GRU(16, 8, batch_first=True)

    def forward(self, ids):
        return self.gru(self.emb(ids))[1][0]


encoder, classifier = Encoder(), nn.Linear(8, 2)
optimizer = torch.optim.Adam([
    {"params": encoder.parameters(), "lr": 5e-3},
    {"params": classifier.parameters(), "lr": 1e-2},
])
for epoch in range(8):
    encoder.train()
    for idx in torch.randperm(600).split(60):
        optimizer.zero_grad()
        with torch.no_grad():
            z = encoder(docs[idx])
        loss = nn.functional.cross_entropy(classifier(z), mood[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
encoder.eval()
with torch.no_grad():
    print("acc", (classifier(encoder(docs[600:])).argmax(1) == mood[600:]).float().mean().item())
