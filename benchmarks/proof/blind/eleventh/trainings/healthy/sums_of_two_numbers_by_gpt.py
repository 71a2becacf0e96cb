r"""The adder demo of a small GPT: digits in, reversed digits of the sum out, with a Trainer and a
callback.

Source: https://github.com/karpathy/minGPT/blob/master/projects/adder/adder.py
Healthy: most targets are set to -1, the answer is written backwards and the accuracy is measured
    only on generated digits; the -1 are ignored by the loss so that the question is not learnt by
    heart.
"""
import math
from collections import defaultdict

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(3407)


class CfgNode:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


class AdditionDataset(Dataset):
    """one digit plus two digits, each row a + b = c with c reversed"""

    def __init__(self, split):
        self.split = split
        g = torch.Generator().manual_seed(1337)
        perm = torch.randperm(100 * 10, generator=g)
        self.ixes = perm[:120] if split == 'test' else perm[120:]

    def get_vocab_size(self):
        return 10

    def get_block_size(self):
        # a (2) + b (1) + c (3) - 1
        return 2 + 1 + 3 - 1

    def __len__(self):
        return self.ixes.nelement()

    def __getitem__(self, idx):
        idx = self.ixes[idx].item()
        a = idx // 10
        b = idx % 10
        c = a + b
        astr = '%02d' % a
        bstr = '%d' % b
        cstr = ('%03d' % c)[::-1]
        dix = [int(s) for s in astr + bstr + cstr]
        x = torch.tensor(dix[:-1], dtype=torch.long)
        y = torch.tensor(dix[1:], dtype=torch.long)
        y[:2] = -1
        return x, y


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
                                 nn.Linear(4 * config.n_embd, config.n_embd))

    def attend(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = [t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
                   for t in (q, k, v)]
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        mask = torch.tril(torch.ones(T, T))
        att = F.softmax(att.masked_fill(mask == 0, float('-inf')), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block_size = config.block_size
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def configure_optimizers(self, train_config):
        decay = [p for p in self.parameters() if p.dim() >= 2]
        no_decay = [p for p in self.parameters() if p.dim() < 2]
        groups = [{'params': decay, 'weight_decay': train_config.weight_decay},
                  {'params': no_decay, 'weight_decay': 0.0}]
        return torch.optim.AdamW(groups, lr=train_config.learning_rate, betas=(0.9, 0.95))

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)).unsqueeze(0))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1),
                                   ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.block_size:])
            _, idx_next = torch.topk(logits[:, -1, :], k=1, dim=-1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


class Trainer:
    def __init__(self, config, model, train_dataset):
        self.config, self.model, self.train_dataset = config, model, train_dataset
        self.optimizer = None
        self.callbacks = defaultdict(list)
        self.iter_num = 0

    def set_callback(self, onevent, callback):
        self.callbacks[onevent] = [callback]

    def run(self):
        model, config = self.model, self.config
        self.optimizer = model.configure_optimizers(config)
        loader = DataLoader(self.train_dataset, shuffle=True, batch_size=config.batch_size)
        model.train()
        data_iter = iter(loader)
        while self.iter_num < config.max_iters:
            try:
                x, y = next(data_iter)
            except StopIteration:
                data_iter = iter(loader)
                x, y = next(data_iter)
            logits, self.loss = model(x, y)
            model.zero_grad(set_to_none=True)
            self.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
            self.optimizer.step()
            for callback in self.callbacks['on_batch_end']:
                callback(self)
            self.iter_num += 1


def eval_split(model, dataset):
    x = torch.stack([dataset[i][0] for i in range(len(dataset))])
    d1d2 = x[:, :3]
    d3 = model.generate(d1d2, 3)[:, -3:].flip(1)
    factors = torch.tensor([[100, 10, 1]])
    d3_pred = (d3 * factors).sum(1)
    d3_gt = d1d2[:, 0] * 10 + d1d2[:, 1] + d1d2[:, 2]
    return (d3_pred == d3_gt).float().mean().item()


if __name__ == '__main__':
    train_dataset, test_dataset = AdditionDataset('train'), AdditionDataset('test')
    model = GPT(CfgNode(vocab_size=10, block_size=train_dataset.get_block_size(), n_layer=2,
                        n_head=4, n_embd=48))
    trainer = Trainer(CfgNode(batch_size=64, learning_rate=4e-3, weight_decay=0.1,
                              grad_norm_clip=1.0, max_iters=360), model, train_dataset)

    def batch_end_callback(trainer):
        if trainer.iter_num % 100 == 0:
            print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.5f}")
        if trainer.iter_num % 180 == 179:
            model.eval()
            print('train acc %.3f test acc %.3f' % (eval_split(model, train_dataset),
                                                    eval_split(model, test_dataset)))
            model.train()

    trainer.set_callback('on_batch_end', batch_end_callback)
    trainer.run()
