r"""Which reply follows a dialogue, with a recurrent encoder and clipped gradients.

Source: https://github.com/taesunwhang/UMS-ResSel/issues/3
Fault: The gradients are clipped after the step, so the step is made with the unclipped ones.
Cause: clip.{0,120}(after|before|order|no effect|too late|never|useless|nothing|place)
    |(after|before).{0,60}(step|clip)|unclipped
    |gradient.{0,80}(explod|spike|large|norm|burst|not clipped)
Place: clip_grad_norm_|clip|optimizer\.step
"""

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(64)
hparams = {"words": 30, "turn": 24, "width": 32, "lr": 0.5, "max_gradient_norm": 0.3, "batch": 32}


class Turns(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.cell = nn.RNN(width, width, batch_first=True, nonlinearity="relu")
        nn.init.eye_(self.cell.weight_hh_l0)
        nn.init.zeros_(self.cell.bias_hh_l0)
        self.score = nn.Linear(width, 2)

    def forward(self, ids):
        states, _ = self.cell(0.3 * self.word(ids))
        return self.score(states[:, -1])


def dialogues(count):
    ids = torch.randint(2, hparams["words"], (count, hparams["turn"]))
    follows = torch.randint(0, 2, (count,))
    place = torch.randint(0, hparams["turn"], (count,))
    ids[torch.arange(count), place] = follows
    return ids, follows


class PostTraining:
    def __init__(self, hparams):
        self.hparams = hparams
        self.model = Turns(hparams["words"], hparams["width"])
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=hparams["lr"])

    def train_step(self):
        ids, follows = dialogues(self.hparams["batch"])
        loss = self.criterion(self.model(ids), follows)
        loss.backward()
        self.optimizer.step()
        clip_grad_norm_(self.model.parameters(), self.hparams["max_gradient_norm"])  # here
        self.optimizer.zero_grad()
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        ids, follows = dialogues(500)
        return (self.model(ids).argmax(1) == follows).float().mean().item()

    def train(self, steps=300):
        accumulated = 0.0
        for step in range(1, steps + 1):
            accumulated += self.train_step()
            if step % 50 == 0:
                print(f"{step} loss {accumulated / 50:.4f} accuracy {self.evaluate():.3f}")
                accumulated = 0.0


PostTraining(hparams).train()
