"""How fast this machine is: kernels in nanoseconds, reading in megabytes, training in tokens."""
