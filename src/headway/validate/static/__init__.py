"""Static fingerprints of Triton kernels: compiled without a GPU, and held against each other."""
