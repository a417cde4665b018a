"""The verbs of the command line; `nmlsdr.cli` is the entry point and nothing else imports them.

`verbs` describes them with the standard library only, so that ``--help`` is quick. It names the function of each,
``run(args, console) -> exit status``, whose module is loaded when the verb runs.
"""
