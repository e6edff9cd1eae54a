# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
print('at import')


def double(x):
    print('in double')
    return 2 * x
