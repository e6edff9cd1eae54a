"""Situations: every combination of conditions in which an answer has to be right, and their proof.

A *factor* is a condition that may vary, such as the dtype; a *level* one of its values. A covering
array names situations in which every two levels of two factors meet at least once.

Source: Kuhn, Kacker, Lei 2010, Practical Combinatorial Testing, NIST SP 800-142
"""
