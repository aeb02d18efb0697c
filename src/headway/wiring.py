"""The only place that chooses real implementations. One function per room builds what the room needs."""
