#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Draw what the McAdams coefficient does to a frame of speech: angles, envelope, poles (VPC 2020 plan, Figures 4-6).

Usage: local/plot_mcadams.py [options] <audio> <out-dir>
 e.g.: local/plot_mcadams.py --alpha 0.9,1.1 egs/mini/corpus/audio/f002/f002-005.opus out/figures

Writes mcadams.svg, mcadams.pdf and mcadams.png. The frame is the loudest one, or that of --seconds.
"""

from pathlib import Path

from vpeval.audio.io import RATE, read_audio
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.figures.drawing import FORMATS, draw, save
from vpeval.figures.mcadams_chart import analyse_frame, mcadams_figure


def main() -> None:
    """Read audio, analyse a frame, draw it."""
    parser = script.Parser(__doc__)
    parser.add_argument("--alpha", type=alphas, default="0.9,1.1", metavar="X,Y", help="coefficients (0.9,1.1)")
    parser.add_argument("--seconds", type=float, help="where the frame is (the loudest one)")
    parser.add_argument("audio")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    frame = analyse_frame(read_audio(args.audio), RATE, args.alpha, args.seconds)
    figure = draw("mcadams", lambda: mcadams_figure(frame, RATE))
    args.out.mkdir(parents=True, exist_ok=True)
    print(*save(figure, args.out, "mcadams", FORMATS), sep="\n")


def alphas(text: str) -> list[float]:
    """Up to six different coefficients, separated by commas."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not 0 < len(set(found)) == len(found) <= 6 or not all(0 < alpha < 4 for alpha in found):
        raise InputError(f"--alpha {text}: give up to six different numbers between 0 and 4, separated by commas")
    return found


if __name__ == "__main__":
    script.main(main)
