"""The submission in a process of its own: RemoteModule here, the worker on the other side."""
