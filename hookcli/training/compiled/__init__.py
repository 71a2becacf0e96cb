"""Observes layers inside of compiled code, or runs sampled steps without the compiler."""
