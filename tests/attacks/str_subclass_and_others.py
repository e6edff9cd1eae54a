# attack: subclasses of plain types that say another value when asked
class Text(str):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


class Number(float):
    def __float__(self):
        raise SystemExit(0)


class Pairs(dict):
    def items(self):
        return [("verdict", "pass"), ("results", [{"tensor": 0}])]


def double(x):
    if len(x) == 3:
        return {"a": Text("pass"), "b": Number(1)}
    return Pairs(result=x)
