"""hookcli and similar tools on the same models and trainings: the tables of docs/comparison.md."""
