"""What tests give other processes to do: spawned ones can import it, as they cannot a test module."""

import os
import time


def square(task, share):
    share(0.5)
    return task * task


def fail_at_three(task, share):
    if task == 3:
        raise ValueError("three")
    for _ in range(600):  # much longer than anybody waits
        share(0.1)
        time.sleep(0.1)


def die(task, share):
    os._exit(1)
