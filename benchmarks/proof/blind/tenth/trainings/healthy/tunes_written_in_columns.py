"""Next note of long tunes that are cut into columns and read from top to bottom.

Source: https://github.com/pytorch/tutorials/issues/1547
Odd: Batches have the shape (length, columns), not (columns, length), and the encoding of the places
    is added along the first dimension, as the transformer expects it without batch_first.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(210)
NOTES, DIM, BPTT, COLUMNS = 15, 48, 16, 20
phrase = torch.randint(0, NOTES, (6, 8))


def batchify(data, columns):
    length = len(data) // columns
    return data[: length * columns].view(columns, length).t().contiguous()


tune = phrase[torch.randint(0, 6, (900,))].flatten()
train_data = batchify(tune[:6000], COLUMNS)
val_data = batchify(tune[6000:], COLUMNS)


def get_batch(source, i):
    length = min(BPTT, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].reshape(-1)


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(NOTES, DIM)
        place = torch.arange(64).float().unsqueeze(1)
        rate = torch.exp(torch.arange(0, DIM, 2).float() * (-math.log(10000.0) / DIM))
        pe = torch.zeros(64, 1, DIM)
        pe[:, 0, 0::2], pe[:, 0, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer("pe", pe)
        layer = nn.TransformerEncoderLayer(DIM, 4, 96, dropout=0.1)
        self.transformer_encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.decoder = nn.Linear(DIM, NOTES)

    def forward(self, src):
        mask = nn.Transformer.generate_square_subsequent_mask(src.size(0))
        x = self.encoder(src) + self.pe[: src.size(0)]
        return self.decoder(self.transformer_encoder(x, mask))


model = TransformerModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(9):
    model.train()
    for i in range(0, len(train_data) - 1, BPTT):
        data, targets = get_batch(train_data, i)
        loss = F.cross_entropy(model(data).view(-1, NOTES), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        total = 0.0
        for i in range(0, len(val_data) - 1, BPTT):
            data, targets = get_batch(val_data, i)
            total += len(data) * F.cross_entropy(model(data).view(-1, NOTES), targets).item()
    if epoch % 3 == 2:
        val = total / (len(val_data) - 1)
        print(f"epoch {epoch + 1} train loss {loss.item():.4f} valid loss {val:.4f}")
