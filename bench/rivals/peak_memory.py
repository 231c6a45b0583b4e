"""Runs a command and writes the most memory it had, in KiB, into a file: peak_memory.py FILE COMMAND...

Small on purpose. A process counts what the one that started it had at that moment as its own peak, and the one that measures has PyTorch
loaded; this one has a few megabytes.
"""

import os
import sys

process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) and 1)
