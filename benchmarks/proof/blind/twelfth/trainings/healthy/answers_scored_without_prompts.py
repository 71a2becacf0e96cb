r"""Small causal language model that learns answers only, with the loss of each answer reported.

Source: https://github.com/Linear95/SPAG/issues/13
Healthy: the summed loss is divided by the number of labels that count, although no mask is put on
    the loss itself; cross_entropy gives zero where the label is the ignore index.
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)

IGNORE_INDEX = -100
PAD = 0
SEP = 1
DIGITS = {str(d): d + 2 for d in range(10)}
VOCAB = 12


def make_example():
    """prompt: some digits, answer: the same digits in rising order"""
    n = random.randint(3, 5)
    digits = [random.randrange(10) for _ in range(n)]
    prompt = [d + 2 for d in digits] + [SEP]
    answer = [d + 2 for d in sorted(digits)] + [SEP]
    return prompt, answer


def data_collator(examples, max_len=12):
    input_ids, labels = [], []
    for prompt, answer in examples:
        ids = prompt + answer
        lab = [IGNORE_INDEX] * len(prompt) + answer
        pad = max_len - len(ids)
        input_ids.append(ids + [PAD] * pad)
        labels.append(lab + [IGNORE_INDEX] * pad)
    return {"input_ids": torch.tensor(input_ids), "labels": torch.tensor(labels)}


class LM(nn.Module):
    def __init__(self, vocab, dim=48, heads=4, layers=2, max_len=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 128, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        n = input_ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        h = self.tok(input_ids) + self.pos(torch.arange(n))
        return self.lm_head(self.norm(self.body(h, mask=mask, is_causal=True)))


def compute_lm_loglikeli(logits, labels):
    batch_size, seq_length, vocab_size = logits.shape

    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    # Flatten the tokens
    loss_fct = nn.CrossEntropyLoss(reduction="none")
    shift_logits = shift_logits.view(-1, vocab_size)
    shift_labels = shift_labels.view(-1)
    loss = loss_fct(shift_logits, shift_labels).reshape(batch_size, -1)

    ignore_mask = labels[:, 1:] != IGNORE_INDEX
    avg_loss = loss.sum(dim=-1) / ignore_mask.sum(dim=-1)

    return -avg_loss


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def compute_loss(self, inputs):
        logits = self.model(inputs["input_ids"])
        return -compute_lm_loglikeli(logits, inputs["labels"]).mean()

    def train(self, steps, batch_size):
        self.model.train()
        for step in range(steps):
            batch = data_collator([make_example() for _ in range(batch_size)])
            loss = self.compute_loss(batch)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            if step % 100 == 99:
                print("step %d loss %.4f" % (step + 1, loss.item()))


@torch.no_grad()
def generate(model, prompt, n):
    ids = torch.tensor([prompt])
    for _ in range(n):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return ids[0, len(prompt):].tolist()


if __name__ == "__main__":
    model = LM(VOCAB)
    trainer = Trainer(model, lr=3e-3)
    trainer.train(steps=350, batch_size=40)
    model.eval()
    examples = [make_example() for _ in range(50)]
    right = sum(generate(model, p, len(a)) == a for p, a in examples)
    batch = data_collator(examples)
    with torch.no_grad():
        ll = compute_lm_loglikeli(model(batch["input_ids"]), batch["labels"])
    print("answers right: %d of 50, mean log-likelihood %.4f" % (right, ll.mean()))
