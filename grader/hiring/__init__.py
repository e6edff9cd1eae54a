"""Take-homes: packs, batches, reports."""
