"""An AWS on this machine: the emulator with what it lacks, instances that are real processes, deploy of the synthesized templates."""
