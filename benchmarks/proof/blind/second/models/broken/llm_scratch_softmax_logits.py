r"""A toy language model of a tutorial, with the loss in the forward.

Source: https://github.com/bkitano/llama-from-scratch/issues/5
Fault: softmax is applied to the scores before cross_entropy, which applies log_softmax again: the
    loss stays near ln(vocab) and gradients are small.
Cause: softmax\b.*\b(twice|double|again|before|already|entropy)|double softmax|entropy\b.*\blogits
Place: \blogits\b
"""

import torch
import torch.nn.functional as F
from torch import nn

CONFIG = {"vocab_size": 65, "d_model": 64, "context_window": 16}


class SimpleModel(nn.Module):
    def __init__(self, config=CONFIG):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config["vocab_size"], config["d_model"])
        self.linear = nn.Sequential(
            nn.Linear(config["d_model"], config["d_model"]),
            nn.ReLU(),
            nn.Linear(config["d_model"], config["vocab_size"]),
        )

    def forward(self, idx, targets=None):
        x = self.embedding(idx)
        logits = F.softmax(self.linear(x), dim=-1)  # here
        loss = None
        if targets is not None:
            vocab = self.config["vocab_size"]
            loss = F.cross_entropy(logits.view(-1, vocab), targets.view(-1))
        return {"loss": loss, "logits": logits}


def example_inputs():
    tokens = torch.randint(0, CONFIG["vocab_size"], (8, CONFIG["context_window"] + 1))
    return tokens[:, :-1], tokens[:, 1:].contiguous()
