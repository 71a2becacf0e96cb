"""Rules about one run of a model: its loss, optimizer step and modes; they may run it again."""
