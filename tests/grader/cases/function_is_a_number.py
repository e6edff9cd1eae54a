# test_three_numbers: error: TypeError
double = 2
