r"""A sentence encoder with a bidirectional GRU whose last states feed a small head.

Source: https://github.com/timbmg/Sentence-VAE/issues/15
Fault: The hidden state has the shape (directions, batch, size) although batch_first is set; view
    joins the states of two different sentences, and the label cannot be found.
Cause: view|reshape|permut|transpos|(mix|join|scrambl)\w*.*(sentence|sample|batch)|direction
Place: hidden|encoder_rnn
"""

import torch
import torch.nn.functional as F
from torch import nn


class SentenceEncoder(nn.Module):
    def __init__(self, vocab_size=30, embedding_size=16, hidden_size=16):
        super().__init__()
        self.hidden_size, self.hidden_factor = hidden_size, 2
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(2 * hidden_size, 3)

    def forward(self, input_sequence):
        batch_size = input_sequence.size(0)
        _, hidden = self.encoder_rnn(self.embedding(input_sequence))
        hidden = hidden.view(batch_size, self.hidden_size * self.hidden_factor)  # here
        return self.hidden2label(hidden)


torch.manual_seed(0)
model = SentenceEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for iteration in range(150):
    target = torch.randint(0, 3, (32,))
    sentences = torch.randint(0, 27, (32, 6))
    sentences[torch.arange(32), torch.randint(0, 6, (32,))] = 27 + target
    logits = model(sentences)
    loss = F.cross_entropy(logits, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 30 == 29:
        acc = (logits.argmax(1) == target).float().mean().item()
        print(f"TRAIN Batch {iteration:04d} Loss {loss.item():9.4f} accuracy {acc:.3f}")
