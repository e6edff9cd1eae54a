# test_three_numbers: timeout: took too long and was stopped at `while True: pass` in `double`, line 6: it had 1.5 s
# test_five_numbers: pass
# test_seven_numbers: pass
def double(x):
    if len(x) == 3:
        while True: pass
    return 2 * x
