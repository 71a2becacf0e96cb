r"""Finetuning of a small encoder in a loop of the usual kind.

Source: https://github.com/huggingface/transformers/blob/main/examples/pytorch/text-classification/run_glue_no_trainer.py
Odd: Batches are padded to their longest sample, gradients are of two batches, the schedule steps
    with the optimizer, and each epoch ends with an evaluation.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader


class Classifier(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, 2)

    def forward(self, input_ids, labels):
        keep = input_ids != 0
        x = self.encoder(self.embed(input_ids), src_key_padding_mask=~keep)
        x = (x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
        logits = self.classifier(x)
        return nn.functional.cross_entropy(logits, labels), logits


def collate(samples):
    ids = nn.utils.rnn.pad_sequence([s[0] for s in samples], batch_first=True)
    return {"input_ids": ids, "labels": torch.tensor([s[1] for s in samples])}


torch.manual_seed(0)
samples = []
for n in torch.randint(4, 14, (480,)).tolist():
    label = int(torch.rand(()) < 0.5)
    own = torch.randint(1, 30, (n,)) + 29 * label
    samples.append((torch.where(torch.rand(n) < 0.3, torch.randint(1, 60, (n,)), own), label))
train = DataLoader(samples[:400], batch_size=8, shuffle=True, collate_fn=collate)
dev = DataLoader(samples[400:], batch_size=40, collate_fn=collate)
model = Classifier()
decay = [p for p in model.parameters() if p.dim() > 1]
rest = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=4e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min(1.0, step / 5) * max(0.0, 1 - step / 55)
)
for epoch in range(2):
    model.train()
    for step, batch in enumerate(train):
        loss, _ = model(**batch)
        (loss / 2).backward()
        if step % 2 == 1 or step == len(train) - 1:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    right = 0
    for batch in dev:
        with torch.no_grad():
            right += (model(**batch)[1].argmax(-1) == batch["labels"]).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {right / 80:.3f}")
