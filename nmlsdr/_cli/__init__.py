"""The verbs of the command line; `nmlsdr.cli` is the entry point and nothing else imports them.

`verbs` describes them with the standard library only, so that ``--help`` is quick. It names the function of each,
``run(args, console) -> exit status``, whose module is loaded when the verb runs.

    parser.py, verbs.py, checks.py, values.py   the arguments: what there is, what is wrong with them
    reading.py, table.py, reviewed.py           plan, and from arguments to arrays; verdicts of people
    plan_text.py                                what is done with every column, as text and as options
    models.py                                   fit, transform, predict, evaluate
    review.py, report.py, residual_fit.py       review, report, and the fit of both
    agree.py, info.py, datasets.py              the other verbs
    writing.py, console.py, startup.py          result files; progress and errors; what need not be loaded
"""
