r"""Sentiment of reviews by an LSTM which is given its first state, with a check in between.

Source: https://github.com/gabrielloye/LSTM_Sentiment-Analysis/issues/4
Fault: The state has the size of a full batch, and the last batch of the validation is smaller.
Cause: batch.{0,80}(size|last|small|differ|incomplete|remain|divis)
    |hidden.{0,60}(size|batch|expect|shape)
    |drop_last|(last|final) batch
Place: init_hidden|val_h|val_loader|drop_last
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
vocab, length, batch_size = 50, 14, 40


def reviews(count):
    words = torch.randint(1, vocab, (count, length))
    liked = ((words < 20).sum(1) > (words > 30).sum(1)).float()
    return TensorDataset(words, liked)


class SentimentNet(nn.Module):
    def __init__(self, embedding_dim=16, hidden_dim=24, n_layers=2):
        super().__init__()
        self.n_layers, self.hidden_dim = n_layers, hidden_dim
        self.embedding = nn.Embedding(vocab, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, n_layers, dropout=0.2, batch_first=True)
        self.fc = nn.Linear(hidden_dim, 1)

    def forward(self, x, hidden):
        lstm_out, hidden = self.lstm(self.embedding(x), hidden)
        return self.fc(lstm_out[:, -1]).squeeze(1), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        shape = (self.n_layers, batch_size, self.hidden_dim)
        return weight.new_zeros(shape), weight.new_zeros(shape)


train_loader = DataLoader(reviews(800), shuffle=True, batch_size=batch_size)
val_loader = DataLoader(reviews(146), shuffle=True, batch_size=batch_size)  # here
model = SentimentNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
counter = 0
for _ in range(4):
    h = model.init_hidden(batch_size)
    for inputs, labels in train_loader:
        counter += 1
        h = tuple(e.data for e in h)
        model.zero_grad()
        output, h = model(inputs, h)
        loss = criterion(output, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        if counter % 30 == 0:
            val_h = model.init_hidden(batch_size)
            val_losses = []
            model.eval()
            for inp, lab in val_loader:
                val_h = tuple(e.data for e in val_h)
                out, val_h = model(inp, val_h)
                val_losses.append(criterion(out, lab).item())
            model.train()
            val_loss = sum(val_losses) / len(val_losses)
            print(f"step {counter} loss {loss.item():.4f} val loss {val_loss:.4f}")
