// Compiled once so that every target can reuse the precompiled header.
