"""Labels on every graph of up to five nodes, with the nodes in every order, beside the closed form.

python tests/campaigns/every_graph.py [--nodes 5] [--record]

The tests take every graph of up to four nodes.  They take a graph of five nodes once, and not in every order of its
nodes.
"""

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from propagation_cases import worst_error

from campaigns import record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="write the counts to last_runs.json")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", ".*without a labelled row")
    columns = 0
    for n in range(2, args.nodes + 1):
        worst, solved = worst_error(n, "auto", up_to_order=False)
        print(f"{n} nodes: {solved} vectors of labels, largest error {worst:.1e}")
        assert worst <= 1e-6
        columns += solved
    if args.record:
        record.save(f"every_graph.py --nodes {args.nodes}", {"vectors of labels": columns})


if __name__ == "__main__":
    main()
