r"""Captions of small scenes, learned word by word.

Source: https://github.com/aimagelab/meshed-memory-transformer/issues/71
Fault: The scheduler also steps after each batch, so the rate is almost zero after the first epoch.
Cause: scheduler|learning rate .*(decay|fall|drop|zero|small|vanish|batch)
    |(each|every|per) (batch|iteration)|decays? too (fast|early)
Place: \bscheduler\b
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Captioner(nn.Module):
    def __init__(self, regions=12, vocab=20, dim=48):
        super().__init__()
        self.visual = nn.Linear(regions, dim)
        self.word = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, scene, words):
        h, _ = self.gru(self.word(words), torch.tanh(self.visual(scene))[None])
        return self.out(h)


def train_xe(model, dataloader, optim, scheduler, loss_fn):
    model.train()
    scheduler.step()
    running_loss = 0.0
    for scene, captions in dataloader:
        out = model(scene, captions[:, :-1])
        loss = loss_fn(out.reshape(-1, out.size(-1)), captions[:, 1:].reshape(-1))
        optim.zero_grad()
        loss.backward()
        optim.step()
        running_loss += loss.item()
        scheduler.step()  # here
    return running_loss / len(dataloader)


torch.manual_seed(0)
scenes = (torch.rand(320, 12) < 0.3).float()
order = torch.argsort(scenes + 0.01 * torch.arange(12.0), dim=1, descending=True)[:, :4] + 1
captions = torch.cat([torch.zeros(320, 1, dtype=torch.long), order], dim=1)
loader = DataLoader(TensorDataset(scenes, captions), batch_size=32, shuffle=True)
model = Captioner()
optim = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.ExponentialLR(optim, gamma=0.7)
for epoch in range(8):
    loss = train_xe(model, loader, optim, scheduler, nn.CrossEntropyLoss())
    print(f"epoch {epoch} loss {loss:.4f} rate {scheduler.get_last_lr()[0]:.2e}")
