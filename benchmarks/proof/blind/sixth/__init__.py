"""A sixth set of cases, with faults drawn as often as people make them."""
