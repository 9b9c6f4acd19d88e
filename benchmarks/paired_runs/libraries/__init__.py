"""Runs with the same noise, compared on three libraries of others: dpmm, mbi and synthcity."""
