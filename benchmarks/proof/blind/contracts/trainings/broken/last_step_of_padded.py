r"""A training of `EventModel`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
Fault: The last time step of the padded sequences is used as the summary, which for short
    sequences is the output at padding.
Cause: pad\w*|lengths?|last (time ?)?step|pack_padded
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(152)


def draw(n):
    seqs, labels = [], []
    for _ in range(n):
        s = torch.randint(1, 8, (int(torch.randint(3, 40, (1,))),))
        seqs.append(s)
        labels.append(int(s[-1] > 4))
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.tensor(labels)


class EventModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(8, 16, padding_idx=0)
        self.gru = nn.GRU(16, 32, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, ids, lengths):
        out, _ = self.gru(self.emb(ids))
        last = out[:, -1]
        return self.fc(last)


model = EventModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ids, lengths, y = draw(400)
for step in range(80):
    pick = torch.randint(0, 400, (32,))
    loss = nn.functional.cross_entropy(model(ids[pick], lengths[pick]), y[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step + 1, f"{loss.item():.4f}")
ids, lengths, y = draw(200)
with torch.no_grad():
    print("acc", (model(ids, lengths).argmax(1) == y).float().mean().item())
