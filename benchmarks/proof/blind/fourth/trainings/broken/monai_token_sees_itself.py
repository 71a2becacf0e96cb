r"""Autoregressive transformer over quantised codes of scans.

Source: https://github.com/Project-MONAI/GenerativeModels/issues/314
Fault: The target of each place is the token at that place, which the network reads.
Cause: \bshift\w*|leak\w*|(target|label)s? .*(input|same|equal|visible|copy|identical|itself)\w*
    |(sees?|reads?|knows|contain\w*|copies|copy|equals?|same) .*(target|label|answer|input)
Place: quantizations_target|shift
"""

import torch
from torch import nn


class DecoderTransformer(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(40, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.to_logits = nn.Linear(dim, vocab)

    def forward(self, tokens):
        n = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.embed(tokens) + self.position(torch.arange(n))
        return self.to_logits(self.blocks(x, mask=mask, is_causal=True)).transpose(1, 2)


torch.manual_seed(0)
codes = (torch.randint(0, 24, (200, 1)) + torch.randint(1, 4, (200, 1)) * torch.arange(32)) % 24
model = DecoderTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
ce_loss = nn.CrossEntropyLoss()
for step in range(60):
    latent = codes[torch.randint(0, 200, (16,))]
    quantizations_target = latent.clone()
    logits = model(latent)
    loss = ce_loss(logits, quantizations_target)  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
