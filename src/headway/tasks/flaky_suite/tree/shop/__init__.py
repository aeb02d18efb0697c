"""A small shop: prices, orders, stock, receipts and background jobs."""
