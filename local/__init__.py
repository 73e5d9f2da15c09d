"""An AWS on this machine: the emulator with what it lacks, real instances, deploy of the synthesized templates."""
