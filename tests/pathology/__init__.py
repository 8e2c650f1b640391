"""Kinds of bugs that people have reported of tools like this one: a file for each, named after it, with a test that
would fail without the cure."""
