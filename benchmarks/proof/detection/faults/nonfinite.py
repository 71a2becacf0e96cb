"""NaN and infinity."""

from benchmarks.proof.detection.faults.fault import Fault, edit

FAULTS = [
    Fault(
        "log-of-relu", "table",
        edit("hidden = self.dropout(hidden)", "hidden = torch.log(self.dropout(hidden))"),
        r"\blog\b", ("dropout", ""),
    ),
    Fault(
        "log-of-softmax", "agent",
        edit("policy = torch.log_softmax(self.actor(features), dim=-1)",
             "policy = torch.log(torch.softmax(200 * self.actor(features), dim=-1))"),
        r"\blog\b", ("actor", ""),
    ),
    Fault(
        "sqrt-at-zero", "moe",
        (("        x = self.norm(self.project(x))\n",
          "        x = self.project(x)\n"
          "        x = x / torch.sqrt((x**2).sum(dim=-1, keepdim=True)).clamp(min=1e-6)\n"),
         ("nn.Linear(features, width)", "nn.Linear(features, width, bias=False)"),
         ("        self.norm = nn.LayerNorm(width)\n", ""),
         ("    return (torch.randn(16, 12),)",
          "    rows = torch.randn(16, 12)\n    rows[4] = 0.0\n    return (rows,)")),
        r"sqrt", ("project",),
    ),
    Fault(
        "distance-at-zero", "siamese",
        (("similarity = (a * b).sum(dim=-1)",
          "similarity = -torch.sqrt(((a - b) ** 2).sum(dim=-1))"),
         ("return torch.randn(12, 1, 64), torch.randn(12, 1, 64)",
          "signal = torch.randn(12, 1, 64)\n    return signal, signal.clone()")),
        r"sqrt", ("encoder", ""),
    ),
    Fault(
        "pow-of-negative", "forecast",
        edit("return self.leave(x)", "return self.leave(x**0.5)"),
        r"pow|\*\*|root|0\.5", ("leave", "stack", ""),
    ),
    Fault(
        "zero-over-zero", "gnn",
        (("return self.linear(adjacency @ x / degree)",
          "return self.linear(adjacency @ x / degree)  # rows without edges"),
         ("        adjacency = adjacency + torch.eye(adjacency.shape[-1]).to(x)\n", ""),
         ("edges = torch.triu(edges, diagonal=1)",
          "edges = torch.triu(edges, diagonal=1)\n    edges[:, :, 7:] = 0")),
        r"\bdiv\b|division|divid|0 ?/ ?0", ("conv1",),
    ),
    Fault(
        "masked-rows", "gpt",
        edit("torch.tril(torch.ones(context, context)).bool()",
             "torch.tril(torch.ones(context, context), diagonal=-1).bool()"),
        r"softmax|mask|-inf", ("blocks.0.attn", "blocks.0"),
    ),
    Fault(
        "masked-everything", "translate",
        (("        context = torch.softmax(scores, dim=-1) @ memory\n",
          "        scores = scores.masked_fill((source == 0).unsqueeze(1), float('-inf'))\n"
          "        context = torch.softmax(scores, dim=-1) @ memory\n"),
         ("return torch.randint(0, 120, (6, 10)), torch.randint(0, 90, (6, 8))",
          "source = torch.randint(1, 120, (6, 10))\n    source[2] = 0\n"
          "    return source, torch.randint(0, 90, (6, 8))")),
        r"softmax|mask|-inf", ("query", ""),
    ),
    Fault(
        "exp-overflow", "vae",
        edit("torch.exp(0.5 * log_variance)", "torch.exp(5000 * log_variance)"),
        r"\bexp\b", ("log_variance", ""),
    ),
    Fault(
        "float16-overflow", "table",
        edit("hidden = self.dropout(hidden)", "hidden = self.dropout(500 * hidden) ** 2 * 500"),
        r"float16|65,?504|overflow|\bpow\b|\bmul\b", ("dropout", "head", ""),
        flags=("--dtype", "float16"),
    ),
    Fault(
        "float16-sum", "siamese",
        edit("x = x.mean(dim=-1)", "x = (60000 * x).sum(dim=-1)"),
        r"float16|65,?504|overflow|\bsum\b|\bmul\b", ("encoder",),
        flags=("--dtype", "float16"),
    ),
    Fault(
        "std-of-one", "table",
        (("        x = self.norm(x)\n", "        x = (x - x.mean(dim=0)) / x.std(dim=0)\n"),
         ("        self.norm = nn.LayerNorm(features)\n", ""),
         ("torch.randn(16, 20)", "torch.randn(1, 20)")),
        r"\bstd\b", ("",),
    ),
    Fault(
        "layer-norm-without-eps", "table",
        (("nn.LayerNorm(features)", "nn.LayerNorm(features, eps=0.0)"),
         ("return (torch.randn(16, 20),)",
          "rows = torch.randn(16, 20)\n    rows[3] = 0.0\n    return (rows,)")),
        r"layer_?norm|eps", ("norm",),
    ),
    Fault(
        "where-trap", "forecast",
        edit("return self.leave(x)",
             "return self.leave(torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x)))"),
        r"sqrt|where", ("stack", "leave", ""),
    ),
    Fault(
        "acos-out-of-range", "siamese",
        edit("similarity = (a * b).sum(dim=-1)",
             "similarity = torch.acos(2 * (a * b).sum(dim=-1))"),
        r"acos", ("encoder", ""),
    ),
    Fault(
        "mean-of-nothing", "tagger",
        edit("        return self.classifier(states)\n",
             "        padding = (words == 0).unsqueeze(-1)\n"
             "        unknown = (states * padding).sum(dim=1) / padding.sum(dim=1)\n"
             "        return self.classifier(states) + self.classifier(unknown).unsqueeze(1)\n"),
        r"\bdiv\b|division|divid|0 ?/ ?0", ("lstm", ""),
    ),
    Fault(
        "nan-weights", "vit",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.constant_(self.layers[1].fc1.weight, float('nan'))\n"),
        r"weight|parameter", ("layers.1.fc1",),
    ),
    Fault(
        "nan-in-the-data", "agent",
        edit("return (torch.randn(16, 10),)",
             "rows = torch.randn(16, 10)\n    rows[5, 3] = float('nan')\n    return (rows,)"),
        r"input|batch", ("",),
    ),
    Fault(
        "inf-mask-in-the-sum", "gpt",
        edit("weights = torch.softmax(scores, dim=-1)",
             "weights = scores / scores.sum(dim=-1, keepdim=True)"),
        r"inf|\bdiv\b|\bsum\b|masked_fill", ("blocks.0.attn", "blocks.0"),
    ),
    Fault(
        "normalised-by-zero", "resnet",
        edit("        x = x.mean(dim=(2, 3))\n",
             "        x = x.mean(dim=(2, 3))\n        x = F.relu(x - 50)\n"
             "        x = x / x.norm(dim=1, keepdim=True)\n"),
        r"\bdiv\b|division|divid|0 ?/ ?0|norm", ("layer3", ""),
    ),
    Fault(
        "variance-of-a-constant", "unet",
        edit("        return self.out(y)\n",
             "        y = torch.where(y > 1e6, y, torch.zeros_like(y))\n"
             "        y = y / y.std(dim=(2, 3), keepdim=True)\n        return self.out(y)\n"),
        r"\bstd\b|\bdiv\b|division|divid|0 ?/ ?0", ("dec1", ""),
    ),
    Fault(
        "exp-of-scores", "translate",
        edit("context = torch.softmax(scores, dim=-1) @ memory",
             "weights = torch.exp(100000 * scores)\n"
             "        context = weights / weights.sum(dim=-1, keepdim=True) @ memory"),
        r"\bexp\b", ("query", ""),
    ),
]  # fmt: skip
