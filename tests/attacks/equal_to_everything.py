# attack: an integer that equals everything, nested in a list
class Yes(int):
    __hash__ = int.__hash__

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __eq__


def double(x):
    return [Yes(0), (Yes(1), {"a": Yes(2)}), Yes(3)]
