"""Mutation testing: small changes of the code of hookcli, and whether tests notice each."""
