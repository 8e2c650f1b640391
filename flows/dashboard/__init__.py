"""The web pages over what happened: read-only, for this machine, or for whoever has the token.

Everything shown may be hostile: prompts, answers, the output of tools, names of models, error texts. It reaches a page
as text only (``elements.el``), under a Content-Security-Policy that runs no script but ours and loads nothing from
elsewhere. Importing this package imports no NiceGUI.
"""
