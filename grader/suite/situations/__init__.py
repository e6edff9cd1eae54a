"""Situations: combinations of conditions in which a submission is tried and has to be right.

A *factor* is a condition that may vary, such as the dtype; a *level* is one of its values. A
covering array is a list of situations in which every two levels of two factors meet at least once.
A grading tries half of one: what alone meets in the other half is tried at other seeds.

Source: Kuhn, Kacker, Lei 2010, Practical Combinatorial Testing, NIST SP 800-142
"""
