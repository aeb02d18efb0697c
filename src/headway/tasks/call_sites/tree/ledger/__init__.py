"""A small double-entry ledger: what it books, bills, keeps and reports, each with its moment in UTC."""
