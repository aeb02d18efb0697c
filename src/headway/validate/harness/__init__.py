"""Harness adapters: how a test run tells what it collected, what it left out and how each test ended."""
