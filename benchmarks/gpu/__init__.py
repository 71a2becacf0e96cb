"""What hookcli says of models on a GPU, against hooks attached by hand; what it costs there."""
