r"""Fine-tuning on short notes in micro batches, four of which make one update.

Source: https://github.com/meta-llama/llama-cookbook/issues/27
Fault: The schedule is stepped after each micro batch and not after each update, so it decays too
    soon.
Cause: schedul\w*.{0,120}(micro|batch|accumul|each|every|times|often|fast|early|quick|iteration)
    |(learning rate|\blr\b).{0,80}(fast|quick|early|soon|decay|vanish|tiny|near.?zero|falls|dropp?)
Place: scheduler|lr_scheduler
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
VOCAB, LENGTH = 24, 16
train_config = {
    "batch_size": 8,
    "gradient_accumulation_steps": 4,
    "num_epochs": 4,
    "lr": 4e-3,
    "gamma": 0.93,
}
next_token = torch.randperm(VOCAB)
after_rare = torch.randperm(VOCAB)


def write_notes(count):
    tokens = torch.randint(0, VOCAB, (count, 2))
    for _ in range(LENGTH - 1):
        last = tokens[:, -1]
        rule = torch.where(tokens[:, -2] % 3 == 0, after_rare[last], next_token[last])
        noise = torch.randint(0, VOCAB, (count,))
        new = torch.where(torch.rand(count) < 0.05, noise, rule)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens


class NoteModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def train(model, notes, eval_notes, optimizer, lr_scheduler, config):
    steps = config["gradient_accumulation_steps"]
    for epoch in range(config["num_epochs"]):
        model.train()
        total = 0.0
        batches = notes[torch.randperm(len(notes))].split(config["batch_size"])
        for step, batch in enumerate(batches):
            loss = lm_loss(model, batch) / steps
            total += loss.item() * steps
            loss.backward()
            if (step + 1) % steps == 0 or step == len(batches) - 1:
                optimizer.step()
                optimizer.zero_grad()
            lr_scheduler.step()  # here
        with torch.no_grad():
            eval_loss = lm_loss(model, eval_notes).item()
        print(f"epoch {epoch + 1} train {total / len(batches):.3f} eval {eval_loss:.3f}")


notes, eval_notes = write_notes(640), write_notes(200)
model = NoteModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=train_config["lr"])
lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=train_config["gamma"])
train(model, notes, eval_notes, optimizer, lr_scheduler, train_config)
