"""The evaluation worker: a program of its own (judge and runner). Standard library only; never imports headway."""
