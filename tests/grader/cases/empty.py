# problem: defines no function `double`; it has no class or function
