"""In the style of a Hugging Face no_trainer script: accumulation, warm-up, no decay of biases."""

import json
import math
from types import SimpleNamespace

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


class Config(SimpleNamespace):
    pass


class BertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = nn.MultiheadAttention(config.hidden, 2, dropout=0.1, batch_first=True)
        self.LayerNorm1 = nn.LayerNorm(config.hidden)
        self.intermediate = nn.Linear(config.hidden, config.hidden * 2)
        self.output = nn.Linear(config.hidden * 2, config.hidden)
        self.LayerNorm2 = nn.LayerNorm(config.hidden)

    def forward(self, x, mask):
        h, _ = self.attention(x, x, x, key_padding_mask=~mask, need_weights=False)
        x = self.LayerNorm1(x + h)
        return self.LayerNorm2(x + self.output(nn.functional.gelu(self.intermediate(x))))


class BertModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab, config.hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(16, config.hidden)
        self.layer = nn.ModuleList(BertLayer(config) for _ in range(2))
        self.pooler = nn.Linear(config.hidden, config.hidden)

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.shape[1])
        x = self.word_embeddings(input_ids) + self.position_embeddings(places)
        for layer in self.layer:
            x = layer(x, attention_mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class BertForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(config.hidden, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        _, pooled = self.bert(input_ids, attention_mask)
        logits = self.classifier(self.dropout(pooled))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return SimpleNamespace(loss=loss, logits=logits)


def examples(count):
    ids = torch.randint(3, 30, (count, 12))
    lengths = torch.randint(6, 13, (count,))
    mask = torch.arange(12)[None] < lengths[:, None]
    labels = torch.randint(2, (count,))
    ids[:, 0] = 1
    ids[torch.arange(count), 1 + torch.randint(4, (count,))] = torch.where(labels == 1, 30, 31)
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": labels}


def main():
    torch.manual_seed(15)
    config = Config(vocab=32, hidden=32)
    model = BertForSequenceClassification(config)
    no_decay = ["bias", "LayerNorm1.weight", "LayerNorm2.weight"]
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not any(nd in n for nd in no_decay)],
         "weight_decay": 0.01},
        {"params": [p for n, p in named if any(nd in n for nd in no_decay)], "weight_decay": 0.0},
    ]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, lr=2e-3)
    accumulation, batches = 4, 122
    max_steps = math.ceil(batches / accumulation)
    lr_scheduler = LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 5) * max(0.0, (max_steps - s) / max_steps)
    )
    completed_steps, losses, window = 0, [], []
    model.train()
    for step in range(batches):
        outputs = model(**examples(16))
        loss = outputs.loss / accumulation
        loss.backward()
        window.append(loss.item())
        if (step + 1) % accumulation == 0 or step == batches - 1:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
            completed_steps += 1
            losses.append(sum(window))
            window = []
            if completed_steps % 10 == 0:
                model.eval()
                with torch.no_grad():
                    batch = examples(64)
                    predictions = model(**batch).logits.argmax(dim=-1)
                accuracy = (predictions == batch["labels"]).float().mean()
                print(f"step {completed_steps}: loss {losses[-1]:.4f} accuracy {accuracy:.3f}")
                model.train()
    print("TRUTH", json.dumps({"model": ["AdamW", completed_steps, losses[0], losses[-1]]}))


if __name__ == "__main__":
    main()
