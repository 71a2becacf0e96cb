r"""Trains a sequence tagger with the learning rate of another optimiser.

Source: https://github.com/guillaumegenthial/sequence_tagging/issues/47
    https://github.com/CharlieDinh/pFedMe/issues/11
Fault: a learning rate of 1.0 was kept when the optimiser was changed to Adam; the loss explodes in
    the first steps and never recovers.
Cause: learning.?rate|\blr\b|step size
Place: \blr\b|CONFIG
"""

import torch
from torch import nn

torch.manual_seed(4)
CONFIG = {"lr_method": "adam", "lr": 1.0, "nepochs": 6, "batch_size": 20, "hidden": 32}  # here


class NERModel(nn.Module):
    def __init__(self, words=80, tags=5):
        super().__init__()
        self.word_embeddings = nn.Embedding(words, 24)
        self.bi_lstm = nn.LSTM(24, CONFIG["hidden"], bidirectional=True, batch_first=True)
        self.proj = nn.Linear(2 * CONFIG["hidden"], tags)

    def forward(self, word_ids):
        return self.proj(self.bi_lstm(self.word_embeddings(word_ids))[0])


def get_optimizer(model):
    method = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[CONFIG["lr_method"]]
    return method(model.parameters(), lr=CONFIG["lr"])


word_ids = torch.randint(0, 80, (200, 9))
labels = (word_ids + word_ids.roll(1, 1)) % 5
model = NERModel()
optimizer = get_optimizer(model)
for epoch in range(CONFIG["nepochs"]):
    train_loss = 0.0
    for rows in torch.randperm(200).split(CONFIG["batch_size"]):
        scores = model(word_ids[rows])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), labels[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / 10
    print(f"Epoch {epoch + 1} train loss {train_loss:.4f}")
