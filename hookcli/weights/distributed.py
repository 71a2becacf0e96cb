def read(path, source):
    raise ValueError("not yet")
