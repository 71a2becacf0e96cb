r"""Trains a causal model with labels equal to the inputs, as the manual of the library says.

Source: https://github.com/huggingface/transformers/issues/3711
    https://github.com/macrocosm-os/pretraining/pull/64
Fault: The labels are not shifted, so the model learns to copy its input and the loss goes to zero
    without any prediction of the next token.
Cause: shift|cop(y|ies)|(current|same|own|input) token|identity|next token|off by one|align
"""

import torch
from torch import nn


class CausalLM(nn.Module):
    def __init__(self, vocab_size=30, d_model=32):
        super().__init__()
        self.vocab_size = vocab_size
        self.embed = nn.Embedding(vocab_size, d_model)
        self.decoder = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, input_ids, labels=None):
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.shape[1])
        hidden = self.decoder(self.embed(input_ids), src_mask=mask, is_causal=True)
        logits = self.head(hidden)
        loss = None
        if labels is not None:
            loss_fct = nn.CrossEntropyLoss()
            loss = loss_fct(logits.view(-1, self.vocab_size), labels.view(-1))  # here
        return loss, logits


torch.manual_seed(0)
model = CausalLM()
successor = torch.randperm(30)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(100):
    tokens = [torch.randint(0, 30, (32,))]
    for _ in range(9):
        tokens.append(successor[tokens[-1]])
    input_ids = torch.stack(tokens, dim=1)
    loss, logits = model(input_ids, labels=input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        hit = (logits[:, :-1].argmax(-1) == input_ids[:, 1:]).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} next token accuracy {hit:.3f}")
