r"""Pretrains a masked language model, evaluated during the training.

Source: https://github.com/ThilinaRajapakse/simpletransformers/issues/941
    https://github.com/joeynmt/joeynmt/issues/184
Fault: evaluate() switches to eval mode and train() is only called before the first epoch, so all
    the later epochs run without the dropout that the model needs.
Cause: \beval\b|train\(\)|train(ing)? mode|eval(uation)? mode
Place: evaluate|model\.train|model\.eval
"""

import torch
from torch import nn

torch.manual_seed(6)
VOCAB, MASK = 40, 0


class MaskedLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.drop = nn.Dropout(0.3)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, VOCAB)

    def forward(self, ids):
        return self.head(self.drop(self.encoder(self.drop(self.embed(ids)))[0]))


def sentences(n):
    start = torch.randint(1, VOCAB, (n, 1))
    return (start + torch.arange(10) * 3 - 1) % (VOCAB - 1) + 1


def mask_tokens(ids):
    labels = ids.clone()
    masked = torch.rand(ids.shape) < 0.15
    masked[:, 0] = True
    labels[~masked] = -100
    return torch.where(masked, MASK, ids), labels


class LanguageModelingModel:
    def __init__(self):
        self.model = MaskedLM()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-3)
        self.train_data, self.eval_data = sentences(64), sentences(64)

    def loss(self, ids):
        inputs, labels = mask_tokens(ids)
        return nn.functional.cross_entropy(self.model(inputs).flatten(0, 1), labels.flatten())

    def evaluate(self):
        self.model.eval()  # here
        with torch.no_grad():
            return self.loss(self.eval_data).item()

    def train_model(self, epochs=8):
        self.model.train()
        for epoch in range(epochs):
            for ids in self.train_data[torch.randperm(64)].split(16):
                loss = self.loss(ids)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} train {loss.item():.4f} eval {self.evaluate():.4f}")


LanguageModelingModel().train_model()
