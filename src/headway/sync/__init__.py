"""upstream -> fork: how a fork of a compiler is kept in step by continuous cherry-picking."""
