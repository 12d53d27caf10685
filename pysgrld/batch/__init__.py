"""Batch systems: when this job will end, and scripts that submit others."""
