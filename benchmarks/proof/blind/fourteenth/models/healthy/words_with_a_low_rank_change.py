r"""A frozen reader of short texts, tuned by low-rank changes of its word table and its layers.

Source: https://github.com/microsoft/LoRA/issues/42
Healthy: in the word table the first factor is zero and the second one is drawn, the other way round
    than in the linear layers and in the paper; the product is zero at the start either way and
    both factors learn. All other weights are frozen on purpose.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALayer():
    def __init__(self, r: int, lora_alpha: int, lora_dropout: float):
        self.r = r
        self.lora_alpha = lora_alpha
        # Optional dropout
        if lora_dropout > 0.:
            self.lora_dropout = nn.Dropout(p=lora_dropout)
        else:
            self.lora_dropout = lambda x: x


class Embedding(nn.Embedding, LoRALayer):
    # LoRA implemented in a dense layer
    def __init__(self, num_embeddings: int, embedding_dim: int, r: int = 0, lora_alpha: int = 1,
                 **kwargs):
        nn.Embedding.__init__(self, num_embeddings, embedding_dim, **kwargs)
        LoRALayer.__init__(self, r=r, lora_alpha=lora_alpha, lora_dropout=0)
        # Actual trainable parameters
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, num_embeddings)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((embedding_dim, r)))
            self.scaling = self.lora_alpha / self.r
            # Freezing the pre-trained weight matrix
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Embedding.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            # initialize A the same way as the default for nn.Linear and B to zero
            nn.init.zeros_(self.lora_A)
            nn.init.normal_(self.lora_B)

    def forward(self, x: torch.Tensor):
        result = nn.Embedding.forward(self, x)
        if self.r > 0:
            after_A = F.embedding(
                x, self.lora_A.transpose(0, 1), self.padding_idx, self.max_norm,
                self.norm_type, self.scale_grad_by_freq, self.sparse
            )
            result = result + (after_A @ self.lora_B.transpose(0, 1)) * self.scaling
        return result


class Linear(nn.Linear, LoRALayer):
    # LoRA implemented in a dense layer
    def __init__(self, in_features: int, out_features: int, r: int = 0, lora_alpha: int = 1,
                 lora_dropout: float = 0., **kwargs):
        nn.Linear.__init__(self, in_features, out_features, **kwargs)
        LoRALayer.__init__(self, r=r, lora_alpha=lora_alpha, lora_dropout=lora_dropout)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = self.lora_alpha / self.r
            self.weight.requires_grad = False
        self.reset_parameters()

    def reset_parameters(self):
        nn.Linear.reset_parameters(self)
        if hasattr(self, 'lora_A'):
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
            nn.init.zeros_(self.lora_B)

    def forward(self, x: torch.Tensor):
        result = F.linear(x, self.weight, bias=self.bias)
        if self.r > 0:
            after = self.lora_dropout(x) @ self.lora_A.transpose(0, 1)
            result = result + (after @ self.lora_B.transpose(0, 1)) * self.scaling
        return result


def mark_only_lora_as_trainable(model: nn.Module) -> None:
    for n, p in model.named_parameters():
        if 'lora_' not in n:
            p.requires_grad = False


class Reader(nn.Module):
    def __init__(self, vocab=80, dim=48, classes=4, r=4):
        super().__init__()
        self.word = Embedding(vocab, dim, r=r, lora_alpha=8)
        self.fc1 = Linear(dim, 64, r=r, lora_alpha=8)
        self.fc2 = Linear(64, 64, r=r, lora_alpha=8)
        self.head = Linear(64, classes, r=r, lora_alpha=8)

    def forward(self, tokens):
        x = self.word(tokens).mean(dim=1)
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.head(x)


def build():
    torch.manual_seed(0)
    model = Reader()
    mark_only_lora_as_trainable(model)
    return model


def example_inputs():
    torch.manual_seed(1)
    kinds = torch.arange(32) % 4
    tokens = torch.randint(0, 20, (32, 12)) + 20 * kinds.unsqueeze(1)
    return (tokens,)
