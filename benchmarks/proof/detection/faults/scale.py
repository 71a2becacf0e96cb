"""Gradients and activations that vanish, explode, saturate or die; initialisations."""

from benchmarks.proof.detection.faults.fault import Fault, edit

VANISHES = r"vanish|shrink|falls|underflow"
EXPLODES = r"explod|grows|overflow|exceeds|values from -\d\.\d+e\+"
SATURATED = "saturat"
DEAD = r"\bdead\b|always (0|zero)|zero for (every|the whole|all)|never active|all units"
ZERO = r"\bzeros?\b|initiali[sz]"

FAULTS = [
    Fault(
        "sigmoid-stack", "deep",
        (("layers += [nn.Linear(width, width), nn.ReLU()]",
          "layers += [nn.Linear(width, width), nn.Sigmoid()]"),
         ('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
          "nn.init.xavier_normal_(module.weight)")),
        VANISHES, ("net",),
    ),
    Fault(
        "tanh-stack-small-init", "deep",
        (('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
          "nn.init.normal_(module.weight, std=0.01)"),
         ("layers += [nn.Linear(width, width), nn.ReLU()]",
          "layers += [nn.Linear(width, width), nn.Tanh()]")),
        VANISHES, ("net",),
    ),
    Fault(
        "tanh-stack-large-init", "deep",
        (('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
          "nn.init.normal_(module.weight, std=3.0)"),
         ("layers = [nn.Linear(features, width), nn.ReLU()]",
          "layers = [nn.Linear(features, width), nn.Tanh()]"),
         ("layers += [nn.Linear(width, width), nn.ReLU()]",
          "layers += [nn.Linear(width, width), nn.Tanh()]")),
        f"{SATURATED}|{EXPLODES}", ("net",),
    ),
    Fault(
        "default-init", "deep",
        edit("        self.init_weights()\n", ""),
        VANISHES, ("net",),
    ),
    Fault(
        "tiny-init", "deep",
        edit('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
             "nn.init.normal_(module.weight, std=0.02)"),
        f"{VANISHES}|too small", ("net",),
    ),
    Fault(
        "large-init", "deep",
        edit('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
             "nn.init.normal_(module.weight, std=0.5)"),
        f"{EXPLODES}|too large", ("net",),
    ),
    Fault(
        "init-times-ten", "deep",
        edit("                nn.init.zeros_(module.bias)\n",
             "                nn.init.zeros_(module.bias)\n"
             "                module.weight.data.mul_(10)\n"),
        f"{EXPLODES}|too large|\\binf", ("net",),
    ),
    Fault(
        "init-over-ten", "deep",
        edit("                nn.init.zeros_(module.bias)\n",
             "                nn.init.zeros_(module.bias)\n"
             "                module.weight.data.div_(10)\n"),
        f"{VANISHES}|too small|exactly zero", ("net",),
    ),
    Fault(
        "one-layer-tiny", "table",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.normal_(self.encoder[2].weight, std=1e-6)\n"),
        f"{VANISHES}|too small|tiny|small", ("encoder.2", "encoder"),
    ),
    Fault(
        "one-layer-huge", "unet",
        edit("        self.out = nn.Conv2d(width, classes, 1)\n",
             "        self.out = nn.Conv2d(width, classes, 1)\n"
             "        nn.init.normal_(self.out.weight, std=1e4)\n"),
        f"{EXPLODES}|too large|large", ("out",),
    ),
    Fault(
        "attention-huge-init", "gpt",
        edit("nn.init.normal_(module.weight, std=0.02)", "nn.init.normal_(module.weight, std=2.0)"),
        f"{SATURATED}|{EXPLODES}|too large|large", ("blocks", "wte", "lm_head"),
    ),
    Fault(
        "no-norm-deep", "vit",
        (("x = x + self.attention(self.norm1(x))\n"
          "        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))",
          "x = x + self.attention(x)\n        return x + self.fc2(F.gelu(self.fc1(x)))"),
         ("depth=3", "depth=24"),
         ("        self.out = nn.Linear(width, width)\n",
          "        self.out = nn.Linear(width, width)\n"
          "        nn.init.kaiming_normal_(self.qkv.weight)\n"
          "        nn.init.kaiming_normal_(self.out.weight)\n"),
         ("        self.fc2 = nn.Linear(4 * width, width)\n",
          "        self.fc2 = nn.Linear(4 * width, width)\n"
          "        self.norm1 = self.norm2 = None\n"
          "        nn.init.kaiming_normal_(self.fc1.weight)\n"
          "        nn.init.kaiming_normal_(self.fc2.weight)\n")),
        EXPLODES, ("layers",),
    ),
    Fault(
        "residual-unscaled", "forecast",
        (("return x + 0.5 * self.mix(torch.tanh(self.conv(padded)))",
          "return 3 * x + self.mix(self.conv(padded))"),
         ("depth=4", "depth=12"), ("2**level", "2 ** (level % 4)")),
        EXPLODES, ("stack",),
    ),
    Fault(
        "no-batch-norm", "resnet",
        (("        out = F.relu(self.bn1(self.conv1(x)))\n"
          "        out = self.bn2(self.conv2(out))\n",
          "        out = F.relu(self.conv1(x))\n        out = self.conv2(out)\n"),
         ("        self.bn1 = nn.BatchNorm2d(outputs)\n",
          "        nn.init.normal_(self.conv1.weight, std=1.0)\n"),
         ("        self.bn2 = nn.BatchNorm2d(outputs)\n",
          "        nn.init.normal_(self.conv2.weight, std=1.0)\n")),
        EXPLODES, ("layer1", "layer2", "layer3"),
    ),
    Fault(
        "pixels-not-scaled", "agent",
        edit("return (torch.randn(16, 10),)", "return (torch.randint(0, 256, (16, 10)).float(),)"),
        f"{SATURATED}|input.*(range|scale|large)", ("body",),
    ),
    Fault(
        "tanh-saturated", "agent",
        edit("        self.critic = nn.Linear(width, 1)\n",
             "        self.critic = nn.Linear(width, 1)\n"
             "        nn.init.normal_(self.body[0].weight, std=20.0)\n"),
        SATURATED, ("body.1", "body.0", "body"),
    ),
    Fault(
        "sigmoid-saturated", "table",
        edit("torch.sigmoid(self.gate(hidden))", "torch.sigmoid(self.gate(hidden) + 40)"),
        SATURATED, ("gate",),
    ),
    Fault(
        "gate-closed", "table",
        edit("        self.dropout = nn.Dropout(0.1)\n",
             "        self.dropout = nn.Dropout(0.1)\n"
             "        nn.init.constant_(self.gate.bias, -60.0)\n"),
        f"{SATURATED}|{VANISHES}", ("gate",),
    ),
    Fault(
        "tanh-of-large", "forecast",
        edit("torch.tanh(self.conv(padded))", "torch.tanh(1000 * self.conv(padded))"),
        SATURATED, ("stack",),
    ),
    Fault(
        "softmax-saturated", "gpt",
        (("scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)",
          "scores = q @ k.transpose(-2, -1)"),
         ("context=16, width=64, heads=4", "context=16, width=256, heads=1"),
         ("nn.init.normal_(module.weight, std=0.02)", "nn.init.normal_(module.weight, std=0.2)")),
        f"softmax|{SATURATED}", ("blocks",),
    ),
    Fault(
        "softmax-temperature", "translate",
        edit("context = torch.softmax(scores, dim=-1) @ memory",
             "context = torch.softmax(scores / 1e-4, dim=-1) @ memory"),
        f"softmax.*{SATURATED}|{SATURATED}.*softmax|one-hot", ("query", ""),
    ),
    Fault(
        "router-saturated", "moe",
        edit("        self.head = nn.Linear(width, 1)\n",
             "        self.head = nn.Linear(width, 1)\n"
             "        nn.init.normal_(self.router.weight, std=1000.0)\n"),
        f"{SATURATED}|one-hot|{EXPLODES}|large", ("router",),
    ),
    Fault(
        "lstm-large-init", "tagger",
        edit("        self.classifier = nn.Linear(2 * hidden, tags)\n",
             "        self.classifier = nn.Linear(2 * hidden, tags)\n"
             "        for weight in self.lstm.parameters():\n"
             "            nn.init.normal_(weight, std=30.0)\n"),
        f"{SATURATED}|{EXPLODES}|too large", ("lstm",),
    ),
    Fault(
        "lstm-gates-closed", "tagger",
        edit("        self.classifier = nn.Linear(2 * hidden, tags)\n",
             "        self.classifier = nn.Linear(2 * hidden, tags)\n"
             "        for name, weight in self.lstm.named_parameters():\n"
             "            if 'bias_ih' in name:\n"
             "                nn.init.constant_(weight, -30.0)\n"),
        f"{SATURATED}|{VANISHES}|closed|small|constant", ("lstm",),
    ),
    Fault(
        "dead-relu-bias", "table",
        edit("        self.dropout = nn.Dropout(0.1)\n",
             "        self.dropout = nn.Dropout(0.1)\n"
             "        nn.init.constant_(self.encoder[0].bias, -100.0)\n"),
        DEAD, ("encoder.1", "encoder.0", "encoder"),
    ),
    Fault(
        "dead-conv", "siamese",
        edit("        self.project = nn.Linear(width, width)\n",
             "        self.project = nn.Linear(width, width)\n"
             "        nn.init.constant_(self.conv2.bias, -100.0)\n"),
        DEAD, ("encoder.conv2", "encoder"),
    ),
    Fault(
        "dead-group-norm", "unet",
        edit("        self.out = nn.Conv2d(width, classes, 1)\n",
             "        self.out = nn.Conv2d(width, classes, 1)\n"
             "        nn.init.constant_(self.bottleneck[4].bias, -10.0)\n"),
        DEAD, ("bottleneck.5", "bottleneck.4", "bottleneck"),
    ),
    Fault(
        "relu-of-negative-relu", "resnet",
        edit("x = F.relu(self.bn(self.stem(images)))",
             "x = F.relu(-F.relu(self.bn(self.stem(images))))"),
        DEAD, ("bn", "stem", ""),
    ),
    Fault(
        "dead-expert", "moe",
        edit("torch.nn.functional.gelu(self.up(x))", "torch.relu(self.up(x) - 50)"),
        DEAD, ("experts",),
    ),
    Fault(
        "dead-graph-layer", "gnn",
        edit("x = torch.relu(self.conv2(x, adjacency))",
             "x = torch.relu(self.conv2(x, adjacency) - 30)"),
        DEAD, ("conv2",),
    ),
    Fault(
        "zero-weights", "gpt",
        edit("nn.init.normal_(module.weight, std=0.02)", "nn.init.zeros_(module.weight)"),
        ZERO, ("wte", "wpe", "blocks", "lm_head"),
    ),
    Fault(
        "zero-hidden-layer", "table",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.zeros_(self.encoder[2].weight)\n"
             "        nn.init.zeros_(self.encoder[2].bias)\n"),
        ZERO, ("encoder.2",),
    ),
    Fault(
        "zero-last-conv", "unet",
        edit("        self.out = nn.Conv2d(width, classes, 1)\n",
             "        self.out = nn.Conv2d(width, classes, 1)\n"
             "        nn.init.zeros_(self.out.weight)\n"
             "        nn.init.zeros_(self.out.bias)\n"),
        ZERO, ("out",),
    ),
    Fault(
        "zero-head", "vit",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.zeros_(self.head.weight)\n"),
        ZERO, ("head",),
    ),
    Fault(
        "zero-scale", "resnet",
        edit("        self.fc = nn.Linear(64, classes)\n",
             "        self.fc = nn.Linear(64, classes)\n"
             "        nn.init.zeros_(self.bn.weight)\n"),
        ZERO, ("bn",),
    ),
    Fault(
        "same-weights", "table",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.constant_(self.encoder[0].weight, 0.1)\n"
             "        nn.init.zeros_(self.encoder[0].bias)\n"),
        r"constant|symmetr|same (value|weights|output)|identical|equal", ("encoder.0",),
    ),
    Fault(
        "weights-of-ones", "deep",
        (('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
          "nn.init.ones_(module.weight)"),),
        rf"constant|symmetr|same (value|weights|output)|identical|equal|{EXPLODES}", ("net",),
    ),
    Fault(
        "output-times-tiny", "table",
        edit("return self.head(hidden)", "return self.head(hidden) * 1e-12"),
        r"small|vanish|tiny|norm", ("head", ""),
    ),
    Fault(
        "constant-output", "gnn",
        edit("pooled = x.mean(dim=1)", "pooled = torch.ones_like(x.mean(dim=1))"),
        r"constant|same|does not depend|no gradient|cut off|ones_like",
        ("conv3", "conv2", "conv1", "readout", ""),
    ),
    Fault(
        "missing-activation", "table",
        edit("            nn.Linear(features, width),\n            nn.ReLU(),\n",
             "            nn.Linear(features, width),\n"),
        r"activation|linear (layers|map)|non-?linear", ("encoder.0", "encoder.1"),
    ),
    Fault(
        "missing-activation-functional", "moe",
        edit("self.down(torch.nn.functional.gelu(self.up(x)))", "self.down(self.up(x))"),
        r"activation|linear (layers|map)|non-?linear", ("experts",),
    ),
]  # fmt: skip
