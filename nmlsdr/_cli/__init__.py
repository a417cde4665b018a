"""The verbs of the command line, one family per file; `nmlsdr.cli` is the entry point and nothing else imports them.

Each file has ``add_parsers(verbs)``, which describes its verbs with the standard library only (so that ``--help`` is
quick), and functions ``run(args, console) -> exit status``, which import what they use.
"""
