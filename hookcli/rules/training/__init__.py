"""Rules over the steps of a training that `hookcli run` observed."""
