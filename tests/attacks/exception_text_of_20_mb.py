# attack: an exception whose text has 20 MB, and whose notes have as many
def double(x):
    error = ValueError("A" * 20_000_000)
    error.add_note("B" * 20_000_000)
    raise error
