"""The kinds of files of weights, each read without torch."""
