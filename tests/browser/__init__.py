"""The dashboard as people meet it: a real browser, a served dashboard, a home with real runs."""
