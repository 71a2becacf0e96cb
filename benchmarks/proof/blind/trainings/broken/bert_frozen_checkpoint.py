r"""Fine-tunes an encoder with frozen embeddings and gradient checkpointing.

Source: https://github.com/huggingface/transformers/issues/21381
    https://github.com/pytorch/pytorch/issues/7617
Fault: The reentrant checkpoint gets an input that needs no gradient, so all layers inside it get
    none and only the classifier learns.
Cause: checkpoint|reentrant|require_?s?.?grad.*input|input.*requires_grad
Place: encoder|layer|checkpoint
"""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore")


class Encoder(nn.Module):
    def __init__(self, dim, n_layers=2):
        super().__init__()
        self.layer = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
            for _ in range(n_layers)
        )

    def forward(self, hidden_states):
        for layer_module in self.layer:
            hidden_states = checkpoint(layer_module, hidden_states, use_reentrant=True)  # here
        return hidden_states


class BertForSequenceClassification(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.encoder = Encoder(dim)
        self.classifier = nn.Linear(dim, 2)

    def forward(self, input_ids):
        return self.classifier(self.encoder(self.embeddings(input_ids))[:, 0])


torch.manual_seed(0)
model = BertForSequenceClassification()
model.embeddings.requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
for step in range(60):
    input_ids = torch.randint(1, 40, (32, 8))
    labels = (input_ids[:, 1:] == 1).any(1).long()
    flip = torch.rand(32) < 0.4
    input_ids[flip, 3], labels[flip] = 1, 1
    loss = F.cross_entropy(model(input_ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 12 == 11:
        print(f"step {step} loss {loss.item():.4f}")
