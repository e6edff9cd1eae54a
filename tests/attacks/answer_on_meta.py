# attack: an answer that has a shape and no values
def double(x):
    return (3 * x).to("meta")
