# test_three_numbers: error: RuntimeError: boom
# test_five_numbers: pass
# test_seven_numbers: pass
def double(x):
    if len(x) == 3:
        raise RuntimeError('boom')
    return 2 * x
