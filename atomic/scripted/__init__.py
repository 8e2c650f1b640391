"""A scripted agent: speaks the agent's protocol and behaves as its model's name says, with neither a key nor Node.

    echo "List the risks" | python -m atomic.scripted --mode json --model scripted/overflow
    python -m atomic.scripted --list

It is for demos, for tests, and for the CI of those who build on this toolkit: every way in which a session can end is
one name. The provider part of the model does not matter (`fake/ok` is `scripted/ok`), so that policies with several
providers can be tried too. Its streams have the shapes of the real clients'.

It starts fast: nothing but a few modules of the standard library is imported.
"""
