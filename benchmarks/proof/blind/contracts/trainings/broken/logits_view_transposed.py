r"""A training of `SequenceTagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
Fault: The time-first logits (T, B, V) are flattened against batch-first targets (B, T), so
    predictions and labels of different positions are paired.
Cause: transpos|permut|time.?(first|major)|batch.?first|misalign|layout
    |(view|reshape|flatten)\w*.{0,80}(order|mix|differ|wrong|align)|axis|dimension
"""

import torch
from torch import nn

torch.manual_seed(146)
V, T, B = 9, 14, 32
table = torch.randperm(V)


def sample():
    s = torch.randint(V, (B, T))
    return s, table[(s + torch.roll(s, 1, 1) * (torch.arange(T) > 0)) % V]


class SequenceTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 24)
        self.lstm = nn.LSTM(24, 48)
        self.fc = nn.Linear(48, V)

    def forward(self, s):
        h, _ = self.lstm(self.emb(s.t()))
        return self.fc(h)


model = SequenceTagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(100):
    s, tags = sample()
    logits = model(s)
    loss = criterion(logits.view(-1, V), tags.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")
s, tags = sample()
with torch.no_grad():
    print("tag accuracy", (model(s).argmax(2).t() == tags).float().mean().item())
