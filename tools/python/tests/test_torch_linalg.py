"""Factorizations, Fourier transforms and complex numbers in PyTorch: gradients against f64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    from remat.torch.types import convert

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
        self.check(lambda w: linalg.matrix_sqrth(w @ w.mT + torch.eye(len(w))).sum() + linalg.polar(w[:, :3])[0] ** 3)
        self.check(lambda w: linalg.polar(w)[1] ** 3)
        for left in (True, False):
            self.check(lambda w: torch.ormqr(*torch.geqrf(w[:, :3].detach()), w, left=left, transpose=left) ** 3)

    def test_matrices_without_elements(self):
        """Bases are those of the space; gradients are 0."""
        linalg = torch.linalg
        for rows, columns in (0, 0), (3, 0), (0, 3):
            def run(w, a=slice(rows), b=slice(columns)):
                x = torch.stack([w[a, b], w[a, b]])
                left, _, right = linalg.svd(x)
                parts = [left.sum(), right.sum(), *linalg.qr(x), linalg.qr(x, "complete")[0].detach(), linalg.pinv(x),
                         *linalg.lu(x), *torch.lu_unpack(*linalg.lu_factor(x))]
                return sum(part.sum() for part in parts) + w

            self.check(run)

    def test_exponentials(self):
        self.check(lambda w: torch.linalg.matrix_exp(w) / 10)
        self.check(lambda w: torch.linalg.matrix_exp(torch.stack([w * 1e-3, w - w.mT, -5 * w @ w.mT])))
        torch._dynamo.reset()
        run = torch.compile(torch.linalg.matrix_exp, backend="remat", dynamic=False)
        far = torch.diag(torch.tensor([-1e3, 0, 2], dtype=torch.float64))
        self.assertLess((run(far) - torch.linalg.matrix_exp(far)).abs().max(), 1e-12)
        self.assertTrue(run(far * 1e9).isnan().all())
        for dtype, error in ((torch.bfloat16, 4e-3), (torch.float16, 5e-4)):
            given = torch.randn(2, 5, 5).to(dtype)
            expected = torch.linalg.matrix_exp(given.double())
            self.assertLess((run(given) - expected).norm() / expected.norm(), error)

    def test_least_squares(self):
        """PyTorch cannot trace them: torch.compile leaves them to PyTorch, and an export says what to write."""
        compare(self, Model(lambda w: torch.linalg.lstsq(w[:, :4], w[:, 4:]).solution.sin() * w[0, 0]).double(), (),
                floor=1e-10)
        message = r"test_torch_linalg.py:\d+: torch.linalg.lstsq is not supported.*write torch.linalg.pinv"
        with self.assertRaisesRegex(remat.ExportError, message):
            rt.export(Model(lambda w: torch.linalg.lstsq(w, w).solution), (), loss=lambda solution: solution.sum())

    def test_large_systems(self):
        """Systems are loops over their rows, so a larger one has no more tasks."""
        def tasks(size):
            torch._dynamo.reset()
            rt.compiled_steps.clear()
            run = torch.compile(lambda a, b: torch.linalg.solve(a, b), backend="remat", dynamic=False)
            a = torch.randn(size, size, dtype=torch.float64, requires_grad=True)
            b = torch.randn(size, 3, dtype=torch.float64, requires_grad=True)
            run(a, b).sin().sum().backward()
            found = a.grad, b.grad
            a.grad = b.grad = None
            torch.linalg.solve(a, b).sin().sum().backward()
            for mine, theirs in zip(found, (a.grad, b.grad)):
                self.assertLess((mine - theirs).abs().max(), 1e-9 * theirs.abs().max())
            return rt.compiled_steps[0].plan.tasks

        self.assertEqual(tasks(40), tasks(60))
        self.assertLess(tasks(60), 60)
        # Of matrices that are halved as well, factors included.
        linalg = torch.linalg
        wide = lambda w: w.repeat(12, 12) + 9 * torch.eye(72, dtype=w.dtype)
        self.check(lambda w: linalg.solve(wide(w), w.repeat(12, 1)), narrow=False)
        self.check(lambda w: torch.cholesky_solve(w.repeat(12, 1), linalg.cholesky(wide(w @ w.mT))), narrow=False)
        self.check(lambda w: linalg.cholesky(wide(w @ w.mT)[:20, :20]), narrow=False)

    def test_convergence(self):
        """Jacobi's rotations converge for eigenvalues that are equal, many or 0, and of many sizes."""
        size = 48
        basis = torch.linalg.qr(torch.randn(size, size, dtype=torch.float64))[0]
        spectra = (torch.arange(size) // 24 + 1, torch.arange(size) // 3, torch.arange(size).clamp(max=16) - 16,
                   torch.logspace(0, -12, size))
        wide = [torch.randn(size, size, dtype=torch.float64), torch.zeros(size, size), torch.ones(size, size)]
        wide += [basis @ torch.diag(spectrum.double()) @ basis.mT for spectrum in spectra]
        wide.append(1 / (torch.arange(size)[:, None] + torch.arange(size) + 1.0).double())  # Hilbert's matrix.
        for dtype in (torch.float32, torch.float64):
            given = torch.stack([m.to(dtype) for m in wide])
            given = (given + given.mT) / 2
            allowed = 32 * torch.finfo(dtype).eps * size * given.abs().amax((-1, -2), keepdim=True).clamp(min=1e-30)
            unit = torch.eye(size, dtype=dtype)
            torch._dynamo.reset()
            values, vectors = torch.compile(torch.linalg.eigh, backend="remat", dynamic=False)(given)
            self.assertTrue(((vectors * values[..., None, :] @ vectors.mT - given).abs() <= allowed).all())
            self.assertTrue(((vectors.mT @ vectors - unit).abs() < 1e3 * torch.finfo(dtype).eps).all())
            self.assertTrue(((values - torch.linalg.eigvalsh(given)).abs() <= allowed[..., 0]).all())
            for part in (given, given[:, :, :31]):
                u, s, vh = torch.compile(lambda x: torch.linalg.svd(x, full_matrices=False), backend="remat",
                                         dynamic=False)(part)
                self.assertTrue(((u * s[..., None, :] @ vh - part).abs() <= allowed).all())
                self.assertTrue(((s - torch.linalg.svdvals(part)).abs() <= allowed[..., 0]).all())
                for basis in (u.mT @ u, vh @ vh.mT):
                    unit = torch.eye(basis.shape[-1], dtype=dtype)
                    self.assertTrue(((basis - unit).abs() < 1e3 * torch.finfo(dtype).eps).all())

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

    def test_sums_of_complex_numbers(self):
        """A variance has that of both parts, and `vdot` the conjugate of its first argument."""
        numbers = lambda w: torch.complex(w, w.sin())
        self.check(lambda w: numbers(w).var() + numbers(w).std(1, correction=0))
        self.check(lambda w: torch.var_mean(numbers(w), 0)[0] + torch.std_mean(numbers(w))[1].abs())
        self.check(lambda w: torch.vdot(numbers(w)[0], numbers(w)[1]).imag + torch.vdot(numbers(w)[0], numbers(
            w)[2].conj()).real + torch.dot(numbers(w)[0], numbers(w)[1]).imag)

    def test_imaginary_parts_are_discarded_where_the_program_says_so(self):
        numbers = lambda w: torch.complex(w, w.sin())
        self.check(lambda w: numbers(w).to(w.dtype) + torch.zeros_like(w).copy_(numbers(w) * 1j), narrow=False)
        with self.assertRaisesRegex(remat.ExportError, "complex numbers are not supported here"):
            convert(None, "%a", torch.complex64, torch.float32)

    def test_refusals(self):
        for run, message in (
                (lambda x: torch.linalg.eigvals(x).abs(), "eigenvalues of matrices that are not symmetric"),
                (lambda x: torch.linalg.eig(x)[0].real, "eigenvalues of matrices that are not symmetric"),
                (lambda x: torch.linalg.eigvals(x.requires_grad_()).abs(), "linalg_eig.default: eigenvalues of"),
                (lambda x: torch.complex(x, x).logcumsumexp(1), "it is not supported for complex numbers; use x.exp"),
                (lambda x: torch.linalg.ldl_factor(x)[0], "it is not supported; use torch.linalg.eigh"),
                (lambda x: torch.linalg.inv(x.repeat(200, 200)), "matrices of 800 by 800 elements are not supported")):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "ExportError: .*test_torch_linalg.py:.*" + message):
                torch.compile(run, backend="remat", dynamic=False, options={"fallback": False})(torch.randn(4, 4))

    def test_singular_matrices(self):
        torch._dynamo.reset()
        with self.assertRaisesRegex(remat.RunError, "the matrix is singular"):
            torch.compile(lambda x: torch.linalg.solve(x, x), backend="remat", dynamic=False)(torch.ones(3, 3))


if __name__ == "__main__":
    unittest.main()
