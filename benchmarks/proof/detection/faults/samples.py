"""Samples, times or runs that affect each other; eval mode that is none."""

from benchmarks.proof.detection.faults.fault import Fault, edit

BATCH = r"(other )?samples?\b.*(depend|change|affect|mix)|across the batch|batch dimension|batch"
EVAL = r"eval"
CAUSAL = r"causal|later|future|after time"

FAULTS = [
    Fault(
        "view-mixes-samples", "table",
        edit("hidden = self.encoder(x)", "hidden = self.encoder(x.t().reshape(x.shape))"),
        BATCH, ("encoder", "norm", ""),
    ),
    Fault(
        "reshape-over-batch", "vit",
        edit("        x = self.norm(x)\n",
             "        x = self.norm(x)\n"
             "        x = x.reshape(x.shape[1], x.shape[0], -1).transpose(0, 1)\n"),
        BATCH, ("norm", "head", ""),
    ),
    Fault(
        "softmax-over-batch", "moe",
        edit("shares = torch.softmax(self.router(x), dim=-1)",
             "shares = torch.softmax(self.router(x), dim=0)"),
        f"{BATCH}|softmax", ("router", ""),
    ),
    Fault(
        "log-softmax-over-batch", "agent",
        edit("torch.log_softmax(self.actor(features), dim=-1)",
             "torch.log_softmax(self.actor(features), dim=0)"),
        f"{BATCH}|softmax", ("actor", ""),
    ),
    Fault(
        "normalised-over-batch", "gnn",
        edit("pooled = x.mean(dim=1)",
             "pooled = x.mean(dim=1)\n        pooled = pooled - pooled.mean(dim=0)"),
        BATCH, ("conv3", "readout", ""),
    ),
    Fault(
        "mean-over-batch", "forecast",
        edit("x = self.enter(series)",
             "x = self.enter(series / series.abs().mean(dim=0, keepdim=True))"),
        BATCH, ("enter", ""),
    ),
    Fault(
        "batch-first-missing", "tagger",
        edit("batch_first=True, bidirectional=True", "bidirectional=True"),
        BATCH, ("lstm", ""),
    ),
    Fault(
        "attention-over-batch", "vit",
        (("        x = F.scaled_dot_product_attention(q, k, v)\n"
          "        return self.out(x.transpose(1, 2).reshape(b, n, c))\n",
          "        q, k, v = (part.transpose(0, 2) for part in (q, k, v))\n"
          "        x = F.scaled_dot_product_attention(q, k, v).transpose(0, 2)\n"
          "        return self.out(x.transpose(1, 2).reshape(b, n, c))\n"),),
        BATCH, ("layers.0.attention", "layers", ""),
    ),
    Fault(
        "sorted-samples", "tagger",
        edit("x = self.embedding(words)", "x = self.embedding(words[words[:, 0].argsort()])"),
        BATCH, ("embedding", ""),
    ),
    Fault(
        "flip-of-samples", "siamese",
        edit("b = self.encoder(second)", "b = self.encoder(second.flip(0))"),
        BATCH, ("encoder", ""),
    ),
    Fault(
        "batch-statistics-in-eval", "resnet",
        edit("x = F.relu(self.bn(self.stem(images)))",
             "self.bn.train()\n        x = F.relu(self.bn(self.stem(images)))"),
        f"{EVAL}|buffer|{BATCH}", ("bn",),
        config="checks:\n  - {rule: eval_stateless}\n",
    ),
    Fault(
        "no-running-statistics", "resnet",
        edit("        self.bn = nn.BatchNorm2d(16)\n",
             "        self.bn = nn.BatchNorm2d(16, track_running_stats=False)\n"),
        f"{BATCH}|track_running_stats", ("bn", ""),
    ),
    Fault(
        "functional-dropout", "translate",
        edit("return self.output(joined)",
             "return self.output(nn.functional.dropout(joined, 0.3))"),
        r"eval|dropout|random", ("combine", "output", ""),
        config="checks:\n  - {rule: dropout_in_eval}\n",
    ),
    Fault(
        "dropout-in-eval", "table",
        edit("hidden = self.dropout(hidden)",
             "hidden = nn.functional.dropout(hidden, 0.5, training=True)"),
        r"eval|dropout|random", ("gate", "head", ""),
        config="checks:\n  - {rule: dropout_in_eval}\n",
    ),
    Fault(
        "noise-in-eval", "agent",
        edit("features = self.body(observation)",
             "features = self.body(observation + 0.1 * torch.randn_like(observation))"),
        r"eval|random|noise", ("body", ""),
    ),
    Fault(
        "unseeded-noise", "agent",
        (("features = self.body(observation)",
          "noise = torch.from_numpy(np.random.default_rng().random(observation.shape))\n"
          "        features = self.body(observation + 0.1 * noise.float())"),
         ("import torch\n", "import numpy as np\nimport torch\n")),
        r"differ|not (the same|equal)|random|seed|determin", ("body", ""),
    ),
    Fault(
        "state-between-calls", "tagger",
        (("states, _ = self.lstm(x)",
          "states, state = self.lstm(x, self.state)\n"
          "        self.state = tuple(part.detach() for part in state)"),
         ("        self.classifier = nn.Linear(2 * hidden, tags)\n",
          "        self.classifier = nn.Linear(2 * hidden, tags)\n        self.state = None\n")),
        r"differ|not (the same|equal)|determin|state|second", ("lstm", ""),
    ),
    Fault(
        "state-not-detached", "tagger",
        (("states, _ = self.lstm(x)", "states, self.state = self.lstm(x, self.state)"),
         ("        self.classifier = nn.Linear(2 * hidden, tags)\n",
          "        self.classifier = nn.Linear(2 * hidden, tags)\n        self.state = None\n")),
        r"differ|not (the same|equal)|determin|state|second|backward", ("lstm", ""),
        flags=("--steps", "2"),
    ),
    Fault(
        "counter-in-eval", "vae",
        (("        hidden = self.encoder(images)\n",
          "        self.steps += 1\n        hidden = self.encoder(images)\n"),
         ("        self.mean = nn.Linear(hidden, latent)\n",
          "        self.mean = nn.Linear(hidden, latent)\n"
          "        self.register_buffer('steps', torch.zeros(()))\n")),
        r"eval|buffer", ("steps",),
        config="checks:\n  - {rule: eval_stateless}\n",
    ),
    Fault(
        "moving-average-in-eval", "moe",
        (("        x = self.norm(self.project(x))\n",
          "        x = self.norm(self.project(x))\n"
          "        self.average.mul_(0.9).add_(0.1 * x.detach().mean(dim=0))\n"
          "        x = x - self.average\n"),
         ("        self.head = nn.Linear(width, 1)\n",
          "        self.head = nn.Linear(width, 1)\n"
          "        self.register_buffer('average', torch.zeros(width))\n")),
        r"eval|buffer|differ", ("average",),
        config="checks:\n  - {rule: eval_stateless}\n",
    ),
    Fault(
        "bad-running-statistics", "resnet",
        edit("        self.fc = nn.Linear(64, classes)\n",
             "        self.fc = nn.Linear(64, classes)\n"
             "        self.layer2[0].bn1.running_var.fill_(1e-12)\n"),
        r"running|explod|large", ("layer2.0.bn1",),
        flags=("--mode", "eval"),
    ),
    Fault(
        "batch-norm-of-one", "resnet",
        (("x = x.mean(dim=(2, 3))", "x = self.neck(x.mean(dim=(2, 3)))"),
         ("        self.fc = nn.Linear(64, classes)\n",
          "        self.neck = nn.BatchNorm1d(64)\n        self.fc = nn.Linear(64, classes)\n"),
         ("torch.randn(8, 3, 32, 32)", "torch.randn(1, 3, 32, 32)")),
        r"more than 1 value|one sample|batch", ("neck",),
        flags=("--input", "1x3x32x32"),
    ),
    Fault(
        "batch-norm-of-two", "resnet",
        (("        self.fc = nn.Linear(64, classes)\n",
          "        self.neck = nn.BatchNorm1d(64)\n        self.fc = nn.Linear(64, classes)\n"),
         ("x = x.mean(dim=(2, 3))", "x = self.neck(x.mean(dim=(2, 3)))"),
         ("torch.randn(8, 3, 32, 32)", "torch.randn(2, 3, 32, 32)")),
        r"batch|samples|values|vanish|small", ("neck",),
    ),
    Fault(
        "shared-batch-norm", "resnet",
        edit("        self.bn2 = nn.BatchNorm2d(outputs)\n", "        self.bn2 = self.bn1\n"),
        r"ran (2|4|twice)|(2|two) times|shared|batch ?norm", ("bn1", "layer1.0.bn1", "layer1"),
    ),
    Fault(
        "no-causal-mask", "gpt",
        edit('        scores = scores.masked_fill(~self.mask[:time, :time], float("-inf"))\n', ""),
        CAUSAL, ("blocks", "mask", ""),
        config="checks:\n  - {rule: causal}\n",
    ),
    Fault(
        "mask-upside-down", "gpt",
        edit("mask = torch.tril(torch.ones(context, context)).bool()",
             "mask = torch.triu(torch.ones(context, context)).bool()"),
        CAUSAL, ("blocks", ""),
        config="checks:\n  - {rule: causal}\n",
    ),
    Fault(
        "heads-mix-times", "gpt",
        edit("        v = v.view(batch, time, self.heads, -1).transpose(1, 2)\n",
             "        v = v.reshape(batch, self.heads, time, -1)\n"),
        CAUSAL, ("blocks", ""),
        config="checks:\n  - {rule: causal}\n",
    ),
    Fault(
        "softmax-over-queries", "gpt",
        edit("weights = torch.softmax(scores, dim=-1)", "weights = torch.softmax(scores, dim=-2)"),
        f"{CAUSAL}|softmax", ("blocks", ""),
        config="checks:\n  - {rule: causal}\n",
    ),
    Fault(
        "padding-on-both-sides", "forecast",
        edit("padded = F.pad(x, (self.pad, 0))",
             "padded = F.pad(x, (self.pad // 2, self.pad // 2))"),
        CAUSAL, ("stack", ""),
        config="checks:\n  - {rule: causal, dim: 2}\n",
    ),
    Fault(
        "padding-everywhere", "tagger",
        edit("return (torch.randint(1, 200, (6, 12)),)",
             "return (torch.zeros(6, 12, dtype=torch.long),)"),
        r"padding", ("embedding",),
    ),
]  # fmt: skip
