# test_three_numbers: todo
# test_five_numbers: todo
# test_seven_numbers: todo
def double(x):
    raise NotImplementedError
