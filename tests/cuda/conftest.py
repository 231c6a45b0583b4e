"""What is here in Python needs a GPU and PyTorch, and is a program of its own: tools/gpu.sh runs it."""

collect_ignore_glob = ["*_test.py"]
