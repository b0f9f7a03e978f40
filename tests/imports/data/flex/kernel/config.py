"""What the kernels are tuned by."""

block = 16
