"""Rules over what a script does between the steps of a training: its facts."""
