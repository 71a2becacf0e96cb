r"""Decoder that is to write on with a small grammar of letters.

Source: https://github.com/macrocosm-os/pretraining/pull/64
Fault: The labels are the inputs themselves and are not shifted by one place, so every place is
    trained to repeat the token that it reads instead of foretelling the next one.
Cause: shift|(same|current|own|very|it (reads|sees)).{0,60}(token|letter|position
    |place).{0,80}(next|copy|identity|repeat|itself)|(next|following).{0,30}(token|letter
    |character).{0,60}(not|instead|never|rather)|not.{0,30}(next|following).{0,10}(token|letter)
    |copy(ing)? (its|the|their) (own )?input|off.by.one|labels? (are|is|equal).{0,30}inputs?
    |repeat the (token|letter|input)
Place: labels?|shift|logits|loss_fct|loss|targets?|input_ids
"""

import torch
from torch import nn

torch.manual_seed(131)
LETTERS, CONTEXT, SIZE = 12, 24, 48
follows = torch.stack([torch.randperm(LETTERS)[:3] for _ in range(LETTERS * LETTERS)])


def write(count):
    """Two letters settle which three may follow."""
    text = torch.randint(0, LETTERS, (count, CONTEXT))
    for place in range(2, CONTEXT):
        row = follows[text[:, place - 2] * LETTERS + text[:, place - 1]]
        text[:, place] = row.gather(1, torch.randint(0, 3, (count, 1))).squeeze(1)
    return text


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(LETTERS, SIZE)
        self.place = nn.Parameter(0.02 * torch.randn(CONTEXT, SIZE))
        layer = nn.TransformerEncoderLayer(SIZE, 4, 96, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.lm_head = nn.Linear(SIZE, LETTERS)
        self.loss_fct = nn.CrossEntropyLoss()
        self.mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)

    def forward(self, input_ids, labels=None):
        length = input_ids.shape[1]
        states = self.token(input_ids) + self.place[:length]
        states = self.layers(states, mask=self.mask[:length, :length], is_causal=True)
        logits = self.lm_head(states)
        loss = None
        if labels is not None:
            loss = self.loss_fct(logits.reshape(-1, LETTERS), labels.reshape(-1))  # here
        return loss, logits


def share_of_right_letters(model, count=200):
    with torch.no_grad():
        text = write(count)[:, : CONTEXT // 2]
        while text.shape[1] < CONTEXT:
            _, logits = model(text)
            text = torch.cat([text, logits[:, -1].argmax(1, keepdim=True)], 1)
    allowed = follows[text[:, :-2] * LETTERS + text[:, 1:-1]]
    fits = (allowed == text[:, 2:, None]).any(-1)
    return fits[:, CONTEXT // 2 - 2 :].float().mean().item()


model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    page = write(48)
    loss, _ = model(page, labels=page)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        share = share_of_right_letters(model)
        model.train()
        print(f"step {step + 1} loss {loss.item():.4f} letters that fit the grammar {share:.3f}")
