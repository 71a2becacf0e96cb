"""How the healthy models are trained; the others compute their own loss, or have none."""

LOSSES = {
    **dict.fromkeys(
        ("table", "deep", "resnet", "unet", "gpt", "tagger", "vit", "gnn", "translate"),
        "cross_entropy",
    ),
    **dict.fromkeys(("moe", "forecast"), "mse"),
    "siamese": "bce_with_logits",
}
