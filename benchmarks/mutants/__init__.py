"""Mutation testing: are there tests that notice when a decision or a request is wrong?

mutmut makes the mutants: one small fault each in a copy of one function. Its own runner
is not used: for every mutant it would collect thousands of tests anew. Here they are
collected once; every mutant then lives in a fork, in which one function's code is
exchanged, and ends with the first test that fails. No file is changed.

    python -m benchmarks.mutants --sample 300            # of each tier, seed 1
    python -m benchmarks.mutants decide/evict render/ids # all of two modules
    python -m benchmarks.mutants --again                 # the survivors once more
"""
