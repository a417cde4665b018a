"""The article's experiments, run again: floor 3, public names only.

    protocol    studies, settings, the data of a seed, fingerprints
    methods     the article's methods by name
    cell        one (study, data set, method, seed): fit, classify, measure
    runner      cells in parallel, progress, dead workers
    store       records.jsonl: durable, checked, locked
    results     records to arrays, the article's values beside (article.json)
    statistics  Wilcoxon, Holm, Friedman, Nemenyi, t
    summary     tables that studies share, agreement, known differences (notes.json)
    toy, benchmarks, case_study     tables, figures and claims of each study
    beyond, beyond_section          what came after the article: regimes, methods, cells; its tables and words
    tables, figures, section, report    how they are written (report.html.jinja)
    command     ``nmlsdr reproduce``
"""
