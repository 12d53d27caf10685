"""The ``sgmc`` command with one more sampler: its module and a row of the table."""

from skeletons.drift import ROW

from pysgrld.samplers import SAMPLERS

SAMPLERS[ROW.name] = ROW

if __name__ == "__main__":
    from pysgrld.cli import main

    main(prog_name="sgmc")
