r"""Do two sentences say the same? Fine-tuning with the gradients of several small batches.

Source: https://github.com/huggingface/transformers/issues/2995
Fault: The number of batches to accumulate is larger than the number of batches of an epoch, and
    the count starts again in each epoch, so the optimizer never makes a step.
Cause: accumulat\w*.{0,100}(larger|greater|more|exceed|never|epoch|longer|reach|too )|(no|never
    |without)\b.{0,30}(optimi[sz]er|a step|step is|updates?\b)|optimi[sz]er\.step.{0,40}(never|not)
    |(weights?|parameters?)\b.{0,60}(never|not|un)\s?(updat|chang|mov)
Place: accumulation\w*|gradient_accumulation_steps|optimizer|step
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(83)
args = {
    "per_gpu_train_batch_size": 16,
    "gradient_accumulation_steps": 64,  # here
    "num_train_epochs": 5,
    "learning_rate": 5e-3,
    "max_grad_norm": 1.0,
}
WORDS, MEANINGS = 60, 20
meaning_of = torch.arange(WORDS) % MEANINGS


def pairs(count, length=6):
    first = torch.randint(0, WORDS, (count, length))
    other_word = (first + MEANINGS * torch.randint(0, 3, (count, length))) % WORDS
    unrelated = torch.randint(0, WORDS, (count, length))
    same = torch.randint(0, 2, (count,))
    second = torch.where(same[:, None] == 1, other_word, unrelated)
    return TensorDataset(first, second, same)


class PairClassifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embeddings = nn.Embedding(WORDS, dim)
        self.mix = nn.Linear(dim, dim)
        self.classifier = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, first, second):
        a, b = (torch.tanh(self.mix(self.embeddings(s))).mean(1) for s in (first, second))
        return self.classifier(torch.cat([(a - b).abs(), a * b], 1))


def train(args, train_dataset, model):
    sampler = RandomSampler(train_dataset)
    loader = DataLoader(train_dataset, sampler=sampler, batch_size=args["per_gpu_train_batch_size"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args["learning_rate"])
    print(f"  Num examples = {len(train_dataset)}, batches = {len(loader)}")
    model.zero_grad()
    for epoch in range(args["num_train_epochs"]):
        tr_loss = 0.0
        for step, (first, second, label) in enumerate(loader):
            model.train()
            loss = F.cross_entropy(model(first, second), label)
            loss = loss / args["gradient_accumulation_steps"]
            loss.backward()
            tr_loss += loss.item() * args["gradient_accumulation_steps"] / len(loader)
            if (step + 1) % args["gradient_accumulation_steps"] == 0:
                nn.utils.clip_grad_norm_(model.parameters(), args["max_grad_norm"])
                optimizer.step()
                model.zero_grad()
        print(f"epoch {epoch} loss {tr_loss:.4f}")


model = PairClassifier()
train(args, pairs(960), model)
model.eval()
with torch.no_grad():
    first, second, label = pairs(1000).tensors
    accuracy = (model(first, second).argmax(1) == label).float().mean().item()
print(f"eval accuracy {accuracy:.3f}")
