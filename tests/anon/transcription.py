"""Section 6.2 of the VPC 2020 plan, frame by frame and with other people's roots and filters: the oracle of McAdams.

And the change of the vocal tract by transforms of scipy's.
"""

import numpy as np
from scipy import signal
from scipy.signal import lfilter

from vpeval.audio.vtln import warp_map

EPS = np.finfo(np.float32).eps


def scalar_burg(frame: np.ndarray, order: int) -> np.ndarray:
    """Burg's method for one frame, as it stands in textbooks."""
    coefficients = np.array([1.0])
    forward, backward = frame[1:], frame[:-1]
    power = forward @ forward + backward @ backward
    for _ in range(order):
        reflection = -2 * (forward @ backward) / (power + np.finfo(np.float64).tiny)
        longer = np.append(coefficients, 0.0)
        coefficients = longer + reflection * longer[::-1]
        forward, backward = forward + reflection * backward, backward + reflection * forward
        power = (1 - reflection**2) * power - backward[-1] ** 2 - forward[0] ** 2
        forward, backward = forward[1:], backward[:-1]
    return coefficients


def per_frame_mcadams(
    wave: np.ndarray,
    alpha: float,
    *,
    order: int = 20,
    size: int = 320,
    shift: int = 160,
    first_frame: int = 1,
    clip: bool = True,
    peak: float = 1.0,
) -> np.ndarray:
    """The whole utterance in a loop over frames."""
    signal = wave.astype(np.float64) + EPS
    hann = np.hanning(size)
    window = np.sqrt(hann / (hann.sum() / shift))
    output = np.zeros(len(signal))
    for number in range(first_frame, 1 + (len(signal) - size) // shift):
        place = slice(number * shift, number * shift + size)
        frame = signal[place] * window
        lpc = scalar_burg(frame + EPS, order)
        poles = np.roots(lpc)
        new_poles = []
        for pole in poles:
            if np.isreal(pole):
                new_poles.append(pole)
            elif pole.imag > 0:
                angle = np.angle(pole) ** alpha
                if clip:
                    angle = min(max(angle, 0), np.pi)
                moved = np.abs(pole) * np.exp(1j * angle)
                new_poles += [moved, np.conj(moved)]
        residual = lfilter(lpc, [1.0], frame)
        output[place] += lfilter([1.0], np.real(np.poly(new_poles)), residual) * window
    return peak * output / np.abs(output).max()


def stretched_by_scipy(wave: np.ndarray, factor: float) -> np.ndarray:
    """The vocal tract changed by scipy's short-time Fourier transform and a whole cepstrum that is cut off."""
    places = warp_map(factor, 257)
    _, _, spectrum = signal.stft(np.pad(wave.astype(np.float64), 512), 16000, nperseg=512, noverlap=384)
    cepstrum = np.fft.irfft(np.log(np.abs(spectrum) + 1e-5), axis=0)
    cepstrum[40:473] = 0
    envelope = np.fft.rfft(cepstrum, axis=0).real
    warped = np.stack([np.interp(places, np.arange(257), column) for column in envelope.T], axis=1)
    _, output = signal.istft(spectrum * np.exp(warped - envelope), 16000, nperseg=512, noverlap=384)
    return np.asarray(output[512 : 512 + len(wave)])
