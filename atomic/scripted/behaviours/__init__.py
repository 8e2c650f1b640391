"""The behaviours, by their sort. Each is a function of the agent and a number; `atomic.scripted.catalog` names them."""
