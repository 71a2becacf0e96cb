"""The gradient does not arrive: its path is cut, or nothing leads from a layer to the loss."""

from benchmarks.proof.detection.faults.fault import Fault, edit

_STEP = """class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x * 8) / 8

    @staticmethod
    def backward(ctx, grad):
        return {}


class """

CUT = r"cut off|no gradient|gradient's path|never reach|does not reach|ends the"
ZERO = (
    r"exactly zero|zero gradient|gradient is zero|derivative (is|of) (0|zero)|no gradient|cut off"
)


def _function(name, returned, layers):
    return Fault(
        name,
        "table",
        (
            ("hidden = self.encoder(x)", "hidden = Round.apply(self.encoder(x))"),
            ("class ", _STEP.format(returned)),
        ),
        r"RoundBackward|Round\b|custom|autograd\.?Function",
        layers,
    )


FAULTS = [
    Fault(
        "detach-gate", "table",
        edit("torch.sigmoid(self.gate(hidden))", "torch.sigmoid(self.gate(hidden)).detach()"),
        "detach", ("gate",),
    ),
    Fault(
        "detach-encoder", "table",
        edit("hidden = self.encoder(x)", "hidden = self.encoder(x).detach()"),
        "detach", ("norm", "encoder"),
    ),
    Fault(
        "detach-state", "tagger",
        edit("states, _ = self.lstm(x)", "states, _ = self.lstm(x.detach())"),
        "detach", ("embedding",),
    ),
    Fault(
        "detach-key", "vit",
        edit("F.scaled_dot_product_attention(q, k, v)",
             "F.scaled_dot_product_attention(q.detach(), k.detach(), v.detach())"),
        "detach", ("layers.0.attention.qkv", "layers.1.attention.qkv", "layers.2.attention.qkv",
                   "layers.*.attention.qkv"),
    ),
    Fault(
        "data-bottleneck", "unet",
        edit("deep = self.bottleneck(self.pool(skip2))",
             "deep = self.bottleneck(self.pool(skip2)).data"),
        r"\.data|detach", ("bottleneck",),
    ),
    Fault(
        "data-weight", "siamese",
        edit("return self.scale * similarity", "return self.scale.data * similarity"),
        r"\.data|detach", ("scale",),
    ),
    Fault(
        "no-grad-block", "resnet",
        edit("        x = self.layer1(x)\n",
             "        with torch.no_grad():\n            x = self.layer1(x)\n"),
        "no_grad", ("stem", "bn", "layer1"),
    ),
    Fault(
        "no-grad-embedding", "gpt",
        edit("        x = self.wte(ids) + self.wpe(positions)\n",
             "        with torch.no_grad():\n"
             "            x = self.wte(ids) + self.wpe(positions)\n"),
        "no_grad", ("wte", "wpe"),
    ),
    Fault(
        "no-grad-decorator", "siamese",
        edit("    def forward(self, signal):",
             "    @torch.no_grad()\n    def forward(self, signal):"),
        "no_grad", ("encoder",),
    ),
    Fault(
        "inference-mode", "gnn",
        edit("        x = torch.relu(self.conv1(nodes, adjacency))\n",
             "        with torch.inference_mode():\n"
             "            x = torch.relu(self.conv1(nodes, adjacency))\n"
             "        x = x.clone()\n"),
        "inference_mode|no_grad|without (grad|autograd)", ("conv1",),
    ),
    Fault(
        "integer-cast", "tagger",
        edit("x = self.embedding(words)", "x = (self.embedding(words) * 10).long().float()"),
        r"integer|int64|long|cast|`?to`?\b", ("embedding",),
    ),
    Fault(
        "bool-threshold", "agent",
        edit("features = self.body(observation)",
             "features = (self.body(observation) > 0).float()"),
        r"compar|bool|`?gt`?|>|threshold", ("body",),
    ),
    Fault(
        "argmax-router", "moe",
        edit("shares = torch.softmax(self.router(x), dim=-1)",
             "shares = torch.eye(4)[self.router(x).argmax(dim=-1)]"),
        "argmax", ("router",),
    ),
    Fault(
        "argmax-token", "translate",
        edit("return self.output(joined)",
             "return self.target(self.output(joined).argmax(dim=-1))"),
        "argmax", ("output", "encoder", "combine", "query", "decoder", "source"),
    ),
    Fault(
        "topk-indices", "moe",
        edit("shares = torch.softmax(self.router(x), dim=-1)",
             "best = self.router(x).topk(2, dim=-1).indices\n"
             "        shares = torch.zeros(x.shape[0], 4).scatter(1, best, 0.5)"),
        "topk|indices|integer", ("router",),
    ),
    Fault(
        "round", "agent",
        edit("features = self.body(observation)", "features = torch.round(self.body(observation))"),
        r"\bround", ("body",),
    ),
    Fault(
        "sign", "table",
        edit("hidden = self.dropout(hidden)", "hidden = torch.sign(self.dropout(hidden))"),
        r"\bsign\b", ("dropout", "gate", "encoder", "norm"),
    ),
    Fault(
        "floor", "forecast",
        edit("x = self.enter(series)", "x = torch.floor(4 * self.enter(series)) / 4"),
        r"\bfloor", ("enter",),
    ),
    Fault(
        "ceil", "gnn",
        edit("pooled = x.mean(dim=1)", "pooled = torch.ceil(x).mean(dim=1)"),
        r"\bceil", ("conv1", "conv2", "conv3"),
    ),
    Fault(
        "numpy-round-trip", "gnn",
        edit("pooled = x.mean(dim=1)",
             "pooled = torch.from_numpy(x.detach().numpy().mean(axis=1))"),
        "numpy|detach", ("conv1", "conv2", "conv3"),
    ),
    Fault(
        "list-round-trip", "siamese",
        edit("b = self.encoder(second)\n        similarity = (a * b)",
             "b = self.encoder(second)\n        a = torch.tensor(a.tolist())\n"
             "        b = torch.tensor(b.tolist())\n        similarity = (a * b)"),
        r"tolist|torch\.tensor|new tensor|python", ("encoder",),
    ),
    Fault(
        "item", "siamese",
        edit("return self.scale * similarity", "return self.scale.item() * similarity"),
        r"item", ("scale",),
    ),
    Fault(
        "new-parameter", "vit",
        edit("dim=1) + self.position", "dim=1) + nn.Parameter(self.position)"),
        r"Parameter|copy|new (leaf|tensor)|re-?assigned|detach|leaf", ("position",),
    ),
    Fault(
        "parameter-replaced", "siamese",
        edit("        a = self.encoder(first)\n",
             "        self.scale = nn.Parameter(self.scale.clamp(0, 10))\n"
             "        a = self.encoder(first)\n"),
        r"replaced|re-?assigned|new parameter|Parameter\b", ("scale",),
    ),
    Fault(
        "data-assigned", "table",
        edit("        x = self.norm(x)\n",
             "        self.head.weight.data = torch.zeros(5, 64)\n        x = self.norm(x)\n"),
        r"'head.*zero|chang|assign|writ", ("head",),
    ),
    _function("function-zero", "torch.zeros_like(grad)", ("encoder", "norm")),
    _function("function-none", "None", ("encoder", "norm")),
    Fault(
        "frozen-conv", "resnet",
        edit("        self.fc = nn.Linear(64, classes)\n",
             "        self.fc = nn.Linear(64, classes)\n"
             "        self.layer2[0].conv1.weight.requires_grad = False\n"),
        "frozen|requires_grad|does not require", ("layer2.0.conv1",),
    ),
    Fault(
        "frozen-block", "gpt",
        (("        self.apply(self.init_weights)\n",
          "        self.apply(self.init_weights)\n"
          "        self.blocks[1].requires_grad_(False)\n"),
         ("depth=3", "depth=6")),
        "frozen|requires_grad|does not require", ("blocks.1",),
    ),
    Fault(
        "frozen-too-late", "unet",
        edit("        self.out = nn.Conv2d(width, classes, 1)\n",
             "        self.out = nn.Conv2d(width, classes, 1)\n"
             "        for parameter in self.dec1.parameters():\n"
             "            parameter.requires_grad = False\n"),
        "frozen|requires_grad|does not require", ("dec1",),
    ),
    Fault(
        "hook-zeroes", "vit",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        self.patches.weight.register_hook(lambda grad: grad * 0)\n"),
        "hook", ("patches",),
    ),
    Fault(
        "unused-head", "agent",
        edit('return {"policy": policy, "value": value}', 'return {"policy": policy}'),
        f"not used|unused|{CUT}", ("critic",),
    ),
    Fault(
        "head-never-called", "agent",
        edit("value = self.critic(features).squeeze(-1)", "value = features.mean(dim=-1)"),
        f"never (ran|runs|called|used)|{CUT}", ("critic",),
    ),
    Fault(
        "dead-branch", "forecast",
        edit("return x + 0.5 * self.mix(torch.tanh(self.conv(padded)))",
             "mixed = self.mix(torch.tanh(self.conv(padded)))\n"
             "        return x + 0.5 * F.pad(x, (self.pad, 0))[..., : x.shape[-1]]"),
        f"not used|unused|{CUT}", ("stack",),
    ),
    Fault(
        "one-block-for-all", "gpt",
        edit("            x = block(x)\n", "            x = self.blocks[0](x)\n"),
        f"never (ran|runs|called|used)|{CUT}", ("blocks.1", "blocks.2"),
    ),
    Fault(
        "wrong-variable", "unet",
        edit("y = self.dec1(torch.cat([self.up1(y), skip1], dim=1))",
             "y = self.dec1(torch.cat([skip1, skip1], dim=1))"),
        f"never (ran|runs|called|used)|not used|unused|{CUT}",
        ("up1", "dec2", "up2", "bottleneck", "enc2"),
    ),
    Fault(
        "plain-list", "vit",
        edit("nn.ModuleList([Layer(width, heads) for _ in range(depth)])",
             "[Layer(width, heads) for _ in range(depth)]"),
        r"not (registered|a (sub)?module)|unregistered|plain (Python )?list|ModuleList|\blist\b",
        ("layers",),
    ),
    Fault(
        "plain-dict", "moe",
        (("nn.ModuleList([Expert(width) for _ in range(experts)])",
          "{str(i): Expert(width) for i in range(experts)}"),
         ("for expert in self.experts]", "for expert in self.experts.values()]")),
        r"not (registered|a (sub)?module)|unregistered|plain (Python )?dict|ModuleDict|\bdict\b",
        ("experts",),
    ),
    Fault(
        "layer-in-forward", "table",
        edit("hidden = self.dropout(hidden)", "hidden = nn.Linear(64, 64)(self.dropout(hidden))"),
        r"not (registered|a (sub)?module)|unregistered|(made|created|constructed) (in|during)",
        ("Linear",),
    ),
    Fault(
        "plain-tensor", "vit",
        edit("self.cls_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)",
             "self.cls_token = torch.randn(1, 1, width) * 0.02"),
        r"not (registered|a parameter|trained)|unregistered|plain tensor|nn\.Parameter",
        ("cls_token",),
    ),
    Fault(
        "tensor-requires-grad", "siamese",
        edit("self.scale = nn.Parameter(torch.tensor(5.0))",
             "self.scale = torch.tensor(5.0, requires_grad=True)"),
        r"not (registered|a parameter)|unregistered|plain tensor|nn\.Parameter", ("scale",),
    ),
    Fault(
        "loss-without-output", "vae",
        edit("loss = reconstruction + 0.1 * divergence", "loss = divergence"),
        f"not used|unused|{CUT}|does not depend", ("decoder",),
    ),
    Fault(
        "loss-item", "vae",
        edit("loss = reconstruction + 0.1 * divergence",
             "loss = reconstruction.item() + 0.1 * divergence"),
        f"item|not used|unused|{CUT}|does not depend", ("decoder",),
    ),
    Fault(
        "latent-detached", "vae",
        edit("logits = self.decoder(latent)", "logits = self.decoder(latent.detach())"),
        "detach", ("mean", "log_variance", "encoder"),
    ),
    Fault(
        "times-zero", "unet",
        edit("[self.up2(deep), skip2]", "[0 * self.up2(deep), skip2]"),
        f"{ZERO}|multipl", ("up2", "bottleneck"),
    ),
    Fault(
        "clamped-away", "siamese",
        edit("similarity = (a * b).sum(dim=-1)",
             "similarity = (a * b).sum(dim=-1).clamp(2.0, 3.0)"),
        r"clamp|saturat|clipp", ("encoder",),
    ),
    Fault(
        "softmax-of-one", "moe",
        (("self.router = nn.Linear(width, experts)", "self.router = nn.Linear(width, 1)"),),
        r"softmax|constant|exactly zero|same value", ("router",),
    ),
    Fault(
        "norm-of-one", "moe",
        edit("        return self.head(x + mixed)",
             "        result = self.head(x + mixed)\n"
             "        return torch.nn.functional.layer_norm(result, (1,))"),
        r"constant|layer_norm|zero for each|exactly zero|same value|does not depend",
        ("head", ""),
    ),
    Fault(
        "dropout-of-all", "table",
        edit("nn.Dropout(0.1)", "nn.Dropout(1.0)"),
        r"dropout|all zeros?|constant|zero for", ("dropout",),
    ),
]  # fmt: skip
