"""A loopback provider: OpenAI-compatible chat completions on 127.0.0.1, whose behaviour is the model's name."""
