def read(path, source, place):
    raise ValueError("not yet")
