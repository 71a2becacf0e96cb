r"""A training of `Net`.

Source: https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(180)
samples = []
for _ in range(400):
    y = int(torch.randint(0, 2, (1,)))
    n = int(torch.randint(5, 20, (1,)))
    samples.append((torch.randn(n, 3) + (0.5 if y else -0.5), y))


def collate(batch):
    seqs = [s for s, _ in batch]
    labels = torch.tensor([y for _, y in batch])
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i]), reverse=True)
    seqs = [seqs[i] for i in order]
    labels = labels[order]
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 16, batch_first=True)
        self.fc = nn.Linear(16, 2)

    def forward(self, x, lengths):
        _, h = self.gru(pack_padded_sequence(x, lengths, batch_first=True))
        return self.fc(h[-1])


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
loader = DataLoader(samples, batch_size=25, shuffle=True, collate_fn=collate)
for epoch in range(5):
    total = 0.0
    for x, lengths, y in loader:
        loss = nn.functional.cross_entropy(net(x, lengths), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
