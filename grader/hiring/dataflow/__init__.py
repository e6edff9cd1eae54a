"""Read what a submission computes, however it is cut into statements and functions.

Each value is followed to the operation that makes it, and from there to the values that go in. What
an operation is of, and what becomes of it, is then the same whether an expression stands in one
statement or in five, in a function of its own or where it is called, in a loop or a comprehension,
under this name or that, in this order or another. What nothing depends on is not there at all.
"""

from grader.hiring.dataflow.expressions import TooMuch
from grader.hiring.dataflow.parsing import Contract, contract_of, parse_most
from grader.hiring.dataflow.reading import Operation, operations_in, read_operations

__all__ = [
    "Contract",
    "Operation",
    "TooMuch",
    "contract_of",
    "operations_in",
    "parse_most",
    "read_operations",
]
