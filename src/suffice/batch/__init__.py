"""Many rows at once: a compiled float64 kernel with rigorous error bounds, tables in and out, files, a cluster."""
