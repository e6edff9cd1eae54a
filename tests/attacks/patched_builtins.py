# attack: builtins that decide whether values agree
import builtins

builtins.abs = builtins.float = lambda value=0: 0.0
builtins.all = builtins.any = builtins.bool = lambda *args: True
builtins.isinstance = builtins.issubclass = lambda *args: True
builtins.max = lambda *args, **kwargs: 10**9
