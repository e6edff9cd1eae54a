# test_three_numbers: pass
# test_five_numbers: pass
# test_seven_numbers: pass
def double(x):
    return 2 * x
