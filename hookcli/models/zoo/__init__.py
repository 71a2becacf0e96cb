"""Models that libraries build by name, without weights: transformers, timm, torchvision."""
