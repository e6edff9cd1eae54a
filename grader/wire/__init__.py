"""What crosses between the trusted side and a worker: frames, values, records."""
