"""Colours and markers of every picture: Okabe and Ito's, told apart by the colour-blind; markers repeat them."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
GREY = "#999999"
