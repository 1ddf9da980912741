"""Factorizations, Fourier transforms and complex numbers in PyTorch: gradients against f64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from common import compare, needs_torch, torch

if torch is not None:
    import torch.nn as nn

    class Model(nn.Module):
        """A function of a 6 x 6 parameter."""

        def __init__(self, run):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 6))
            self.run = run

        def forward(self):
            return self.run(self.w)


@needs_torch
class LinearAlgebraTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, run, narrow=True):
        """In f64 to the last digits, and in f32 nearly as well as PyTorch does. Signs of vectors are anybody's."""
        compare(self, Model(run).double(), (), floor=1e-10)
        if narrow:
            compare(self, Model(run), (), factor=20, floor=1e-5)

    def test_systems(self):
        linalg = torch.linalg
        self.check(lambda w: linalg.solve(w, w.mT @ w).sin())
        self.check(lambda w: linalg.solve(w, w[0]) + linalg.solve(w, w[:2].exp(), left=False).sum())
        self.check(lambda w: linalg.solve(torch.stack([w, w.mT]), w[:, :2]) + linalg.inv(w)[:, :2])
        self.check(lambda w: linalg.det(w) + linalg.slogdet(w.mT @ w + 1)[1] + torch.logdet(w @ w.mT) + linalg.det(
            w.mT), narrow=False)  # f32 has few digits of determinants this large.
        self.check(lambda w: torch.cat([x.flatten() for x in linalg.lu(w[:, :4])]))
        self.check(lambda w: torch.cholesky_solve(w, linalg.cholesky(w @ w.mT + torch.eye(6, dtype=w.dtype))))

    def test_factorizations(self):
        linalg = torch.linalg
        self.check(lambda w: linalg.qr(w[:, :3])[0] ** 3 + linalg.qr(w)[1].sum())
        self.check(lambda w: linalg.eigh(w)[1] ** 4 + linalg.eigvalsh(w).sin())
        self.check(lambda w: linalg.svd(w, full_matrices=False)[0] ** 4 + linalg.svdvals(w[:4]).sum())
        self.check(lambda w: linalg.pinv(w[:, :3]) + linalg.norm(w, "nuc") + linalg.norm(w, 2))

    def test_fourier_transforms(self):
        fft = torch.fft
        self.check(lambda w: fft.fft2(w, norm="ortho").abs() ** 3 + fft.ifft(w, norm="forward").real)
        self.check(lambda w: fft.irfft(fft.rfft(w) * torch.arange(4) * 1j, n=6) + fft.irfftn(fft.rfftn(w), s=(6, 6)))
        self.check(lambda w: fft.fftshift(fft.ifftn(torch.complex(w, w * 2))).abs() + fft.hfft(
            torch.complex(w, w), n=6))
        self.check(lambda w: torch.istft(torch.stft(
            w.flatten(), 8, 4, window=torch.hann_window(8, dtype=w.dtype), return_complex=True) * w.sum(), 8, 4,
            window=torch.hann_window(8, dtype=w.dtype)))

    def test_complex_numbers(self):
        self.check(lambda w: torch.view_as_real(torch.polar(w, w) * w + torch.complex(w, w) @ torch.complex(
            w.sin(), w)))
        self.check(lambda w: (torch.exp(torch.complex(w, w)) / torch.complex(w, w + 3)).imag + torch.complex(
            w, w + 1).angle() + torch.complex(w, w).mean().abs())
        self.check(lambda w: torch.view_as_real(torch.view_as_complex(w.reshape(6, 3, 2)) * torch.polar(
            torch.ones(6, 3, dtype=w.dtype), torch.ones(6, 3, dtype=w.dtype))))

    def test_refusals(self):
        for run, message in (
                (lambda x: torch.linalg.eigvals(x).abs(), "eigenvalues of matrices that are not symmetric"),
                (lambda x: torch.linalg.matrix_exp(x), "exponentials of matrices are not supported"),
                (lambda x: torch.linalg.inv(x.repeat(200, 200)), "matrices of 800 by 800 elements are not supported")):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "ExportError: .*test_torch_linalg.py:.*" + message):
                torch.compile(run, backend="remat", dynamic=False)(torch.randn(4, 4))

    def test_singular_matrices(self):
        torch._dynamo.reset()
        with self.assertRaisesRegex(remat.RunError, "the matrix is singular"):
            torch.compile(lambda x: torch.linalg.solve(x, x), backend="remat", dynamic=False)(torch.ones(3, 3))


if __name__ == "__main__":
    unittest.main()
