r"""Words of one language put into another, over two nights with a checkpoint between them.

Source: https://github.com/modernmt/modernmt/issues/321
Fault: On resuming only the weights are loaded, the optimizer is made from scratch with the first
    learning rate and without its moments.
Cause: optimi[sz]er.{0,140}(restor|load|resum|scratch|fresh|anew|state|lost|saved|new)|(restor
    |load|resum|save).{0,100}(optimi|moment|learning rate|scheduler)|(moment
    |learning rate).{0,60}(lost|reset|restart|start)
Place: optimizer|resume|checkpoint|state_dict|load_state_dict|save|load
"""

import io

import torch
from torch import nn

torch.manual_seed(231)
WORDS, SIZE, LENGTH = 12, 48, 3
dictionary = torch.randperm(WORDS)


def sentences(count):
    source = torch.randint(0, WORDS, (count, LENGTH))
    return source, dictionary[source.flip(1)]


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, SIZE)
        self.encoder = nn.GRU(SIZE, SIZE, batch_first=True)
        self.decoder = nn.GRU(SIZE, SIZE, batch_first=True)
        self.out = nn.Linear(SIZE, WORDS)

    def forward(self, source):
        _, state = self.encoder(self.embed(source))
        steps = state.transpose(0, 1).expand(-1, LENGTH, -1).contiguous()
        return self.out(self.decoder(steps, state)[0])


def build():
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    return model, optimizer, scheduler


def train(model, optimizer, scheduler, first, last):
    for step in range(first, last):
        source, target = sentences(64)
        loss = nn.functional.cross_entropy(model(source).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 25 == 24 or step == first:
            rate = optimizer.param_groups[0]["lr"]
            print(f"step {step + 1} loss {loss.item():.4f} rate {rate:.5f}")


def save(model, optimizer, scheduler, file):
    states = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.save({name: part.state_dict() for name, part in states.items()}, file)


def resume(file):
    checkpoint = torch.load(file)
    model, optimizer, scheduler = build()
    model.load_state_dict(checkpoint["model"])  # here
    return model, optimizer, scheduler


night = build()
train(*night, 0, 150)
file = io.BytesIO()
save(*night, file)
file.seek(0)
train(*resume(file), 150, 175)
