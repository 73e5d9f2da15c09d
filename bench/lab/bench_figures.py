"""Figures that a benchmark measures already, with what the papers print of them."""

from bench.hdfs.counts import THEIR_STOCK
from bench.lab.benches import Bench, minutes_of_routes, of_bench, sampling
from bench.lab.experiment import Experiment, Figure
from bench.lab.record import Claim

ONE_IN_TEN = "relays of a type are alike but for one in ten"
EXPERIMENTS = (
    Experiment(
        [
            Figure(
                "geo-4",
                "GEO",
                "Last sample, mean and weighted samples as predictions",
                [
                    Claim(
                        text="weighted is best where rates are unstable",
                        row="noisy: weighted over the better of the others",
                        most=1,
                    ),
                    Claim(
                        text="and equal where they are stable",
                        row="stable: weighted over the better of the others",
                        most=1.1,
                    ),
                    Claim(text="its error is 10 to 15 %", row="recorded: weighted", most=15),
                ],
            )
        ],
        sampling,
        minutes=1,
        isolated=False,
        daemon=False,
    ),
    of_bench(
        Bench("bench.routes", "--seed {seed}", "routes", minutes_of_routes),
        [
            Figure(
                "geo-9a",
                "GEO",
                "Four strategies over ten minutes, 25 relays in six regions (simulated)",
                [
                    Claim(
                        text="about 20 % ahead of the refreshed widest path after ten minutes",
                        row="figure 9, capped links, at once: over widest path, refreshed, median",
                        least=1.15,
                        only_if="a link carries no more with more relays, and scheme and rates change at once",
                    )
                ],
            )
        ],
        8,
    ),
    of_bench(
        Bench("bench.routes.emulated", "--cases links --seeds 3 --seed {seed}", "routes-emulated"),
        [Figure("geo-9b", "GEO", "The same with real bytes, links capped as a whole")],
        20,
    ),
    of_bench(
        Bench("bench.fleet", "--cases spread --seed {seed}", "fleet"),
        [
            Figure(
                "cpt-6.3",
                "CPT",
                "Spread of 8 GB with 4 pairs, without a pre-test",
                [
                    Claim(
                        text="runs differ by up to 15 %",
                        row="spread of 12 runs without pre-test",
                        most=17,
                        only_if=ONE_IN_TEN,
                    )
                ],
            ),
            Figure(
                "cpt-6.4",
                "CPT",
                "The same with a pre-test",
                [
                    Claim(
                        text="runs differ by less than 5 %",
                        row="spread of 12 runs with pre-test",
                        most=5,
                        only_if=ONE_IN_TEN,
                    )
                ],
            ),
        ],
        14,
    ),
    of_bench(
        Bench("bench.fleet", "--cases pre-test --seed {seed}", "fleet"),
        [
            Figure(
                "cpt-5.8",
                "CPT",
                "The pre-test keeps the better half of the pairs",
                [Claim(text="the bottom half is discarded", row="pre-test: the better half kept", least=20)],
            )
        ],
        8,
    ),
    of_bench(
        Bench("bench.hdfs", "--cases files", "hdfs-files"),
        [
            Figure(
                "cpt-6.5",
                "CPT",
                "CPT beside DistCp, 1 to 16 files, no added nodes",
                [
                    Claim(
                        text="CPT is slightly faster",
                        row="32 MiB: CPT over DistCp at its best, without T_0",
                        most=1,
                        only_if="nothing is staged: CPT reads and writes HDFS itself",
                    ),
                    Claim(
                        text="DistCp takes longer in steps of its map slots",
                        row=f"32 MiB: {THEIR_STOCK}, 8 files over 7",
                        least=1.5,
                    ),
                ],
            )
        ],
        20,
    ),
    of_bench(
        Bench("bench.hdfs", "--cases staged", "hdfs-staged"),
        [
            Figure(
                "cpt-6.6",
                "CPT",
                "Timeline of 2 files: export, transfer, import",
                [
                    Claim(
                        text="as fast as DistCp",
                        row=f"6.6: 2 files, staged over {THEIR_STOCK}",
                        least=0.9,
                        most=1.1,
                        contradicted="CPT's line in Figure 6.5 goes through 0, and DistCp's does not",
                    )
                ],
            ),
            Figure(
                "cpt-6.7",
                "CPT",
                "Timeline of 12 files",
                [
                    Claim(
                        text="export and import are a larger share than with 2 files",
                        row="6.7: share of export and import, more files over few",
                        least=1.02,
                        contradicted="by Equation 5.1 all three parts grow alike with the size",
                    )
                ],
            ),
        ],
        20,
    ),
    of_bench(
        Bench("bench.hdfs", "--cases kinds", "hdfs-kinds"),
        [
            Figure(
                "cpt-6.8",
                "CPT",
                "Two pairs more, m4.large or t2.micro: time and money",
                [
                    Claim(
                        text="below 8 files t2.micro is as fast as m4.large",
                        row="6.8: 8 files, small relays over large ones, time",
                        most=1.05,
                    ),
                    Claim(text="and over 75 % cheaper", row="6.8: 8 files, saved by small relays", least=75),
                ],
            )
        ],
        20,
    ),
    of_bench(
        Bench("bench.hdfs", "--cases pairs", "hdfs-pairs"),
        [Figure("cpt-6.9", "CPT", "The fewest pairs that match DistCp")],
        20,
    ),
)
