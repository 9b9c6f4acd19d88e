"""The experiments of SDP-PE: arms, runs, tables, plots and a page."""
