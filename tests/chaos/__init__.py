"""SIGKILL at random moments to random processes, and what must hold afterwards: `python -m tests.chaos.single`."""
