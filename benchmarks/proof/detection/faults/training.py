"""Faults of the loss, its targets and the optimizer, which only a run with them can show."""

from benchmarks.proof.detection.faults.fault import Fault, edit

CLASSES = ("--loss", "cross_entropy")
_LEARNS = "checks:\n  - {rule: overfits_one_batch}\n"


def _optimizer(lr, *rules):
    checks = "".join(f"  - {{rule: {rule}}}\n" for rule in rules)
    return f"run: {{optimizer: {{name: SGD, lr: {lr}}}}}\n" + (checks and f"checks:\n{checks}")


FAULTS = [
    Fault(
        "softmax-twice", "table",
        edit("return self.head(hidden)", "return torch.softmax(self.head(hidden), dim=-1)"),
        r"softmax", ("head", ""), CLASSES,
    ),
    Fault(
        "softmax-twice-in-a-layer", "deep",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Sequential(nn.Linear(width, classes), nn.Softmax(dim=1))\n"),
        r"softmax", ("head", ""), CLASSES,
    ),
    Fault(
        "softmax-before-nll", "table",
        edit("return self.head(hidden)", "return torch.softmax(self.head(hidden), dim=-1)"),
        r"softmax", ("head", ""), ("--loss", "nll_loss"),
    ),
    Fault(
        "logits-in-nll", "gnn",
        edit("return self.readout(pooled)", "return self.readout(pooled) * 1.0"),
        r"log-?_?(softmax|prob)|logits", ("readout", ""), ("--loss", "nll_loss"),
    ),
    Fault(
        "sigmoid-twice", "unet",
        edit("return self.out(y)", "return torch.sigmoid(self.out(y))"),
        r"sigmoid", ("out", ""), ("--loss", "bce_with_logits"),
    ),
    Fault(
        "label-out-of-range", "table",
        edit("classes=5", "classes=4"),
        r"label|target|class", ("head", ""), (*CLASSES, "--target", "16:int64:0..9"),
    ),
    Fault(
        "labels-all-ignored", "tagger",
        (),
        r"target|label|ignor", ("",),
        ("--loss", "cross_entropy(ignore_index=0)", "--target", "6x12:int64:0..1"),
    ),
    Fault(
        "target-broadcast", "moe",
        (),
        r"shape|broadcast|size", ("", "head"), ("--loss", "mse", "--target", "16"),
    ),
    Fault(
        "head-too-large", "vit",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        nn.init.normal_(self.head.weight, std=5.0)\n"),
        r"loss.*(guess|start|begin|init|chance|log)|large|explod", ("head", ""), CLASSES,
        "checks:\n  - {rule: initial_loss}\n",
    ),
    Fault(
        "logits-too-large", "gpt",
        edit("return self.lm_head(x)", "return 500 * self.lm_head(x)"),
        r"loss.*(guess|start|begin|init|chance|log)|large|explod", ("lm_head", ""), CLASSES,
        "checks:\n  - {rule: initial_loss}\n",
    ),
    Fault(
        "loss-of-the-wrong-output", "agent",
        edit('return {"policy": policy, "value": value}',
             'return {"policy": policy, "value": value, "loss": value.square().mean()}'),
        r"cut off|no gradient|not used|does not reach|never reach", ("actor",),
    ),
    Fault(
        "output-ignores-input", "gnn",
        edit("pooled = x.mean(dim=1)", "pooled = torch.zeros_like(x.mean(dim=1))"),
        r"constant|same|does not depend|no gradient|cut off|zeros_like",
        ("conv3", "conv2", "conv1", "readout", ""), CLASSES, _LEARNS,
    ),
    Fault(
        "learning-rate-0", "table",
        (),
        r"learning rate|\blr\b|update|step", ("", "head", "norm", "encoder"), CLASSES,
        _optimizer("0.0", "overfits_one_batch", "update_ratio"),
    ),
    Fault(
        "learning-rate-1e-12", "gnn",
        (),
        r"learning rate|\blr\b|update|step", ("", "conv1", "conv2", "conv3", "readout"), CLASSES,
        _optimizer("1.0e-12", "overfits_one_batch", "update_ratio"),
    ),
    Fault(
        "learning-rate-100", "table",
        (),
        r"learning rate|\blr\b|update|step", ("", "head", "norm", "encoder", "gate"), CLASSES,
        _optimizer("100.0", "overfits_one_batch", "update_ratio"),
    ),
    Fault(
        "learning-rate-1000-in-steps", "forecast",
        (),
        r"step|learning rate|\blr\b|update", ("", "enter", "stack", "leave"),
        ("--loss", "mse", "--steps", "8"),
        _optimizer("1000.0"),
    ),
    Fault(
        "nan-at-the-third-step", "agent",
        (("features = self.body(observation)",
          "self.calls += 1\n"
          "        features = self.body(observation) / (self.calls != 3).float()"),
         ("        self.actor = nn.Linear(width, actions)\n",
          "        self.actor = nn.Linear(width, actions)\n"
          "        self.register_buffer('calls', torch.zeros(()))\n")),
        r"\bdiv\b|division|divid|step (2|3)|third", ("body", ""),
        ("--steps", "5"),
    ),
    Fault(
        "gradients-clipped-to-nothing", "vit",
        edit("        self.head = nn.Linear(width, classes)\n",
             "        self.head = nn.Linear(width, classes)\n"
             "        for parameter in self.parameters():\n"
             "            parameter.register_hook(lambda grad: grad.clamp(-1e-12, 1e-12))\n"),
        r"hook|clamp|clip|vanish|small|too (little|small)", ("head", "patches", "layers", ""),
        CLASSES,
    ),
    Fault(
        "tied-by-memory-only", "gpt",
        edit("        self.apply(self.init_weights)\n",
             "        self.apply(self.init_weights)\n"
             "        self.lm_head.weight = nn.Parameter(self.wte.weight)\n"),
        r"tied|share|same (memory|storage)", ("lm_head", "wte"),
    ),
    Fault(
        "weight-decay-in-forward", "vae",
        edit("        hidden = self.encoder(images)\n",
             "        self.mean.weight.data.mul_(0.99)\n        hidden = self.encoder(images)\n"),
        r"chang|modif|eval|in.?place", ("mean",), (),
        "checks:\n  - {rule: eval_stateless}\n",
    ),
    Fault(
        "embedding-with-max-norm", "translate",
        edit("self.source = nn.Embedding(source, width)",
             "self.source = nn.Embedding(source, width, max_norm=1.0)"),
        r"chang|modif|eval|max_norm|in.?place", ("source",), (),
        "checks:\n  - {rule: eval_stateless}\n",
    ),
    Fault(
        "detached-loss-term", "vae",
        edit("loss = reconstruction + 0.1 * divergence",
             "loss = reconstruction.detach() + 0.1 * divergence"),
        "detach", ("decoder",), (),
        _LEARNS,
    ),
]  # fmt: skip
