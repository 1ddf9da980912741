"""The loss of connectionist temporal classification, and packed sequences. Needs PyTorch.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn.functional as F
    from remat.torch.ctc import ctc_loss_of_tensors

    PADDED = torch.tensor([[1, 2, 2, 4], [3, 3, 3, 0], [1, 0, 0, 0]])
    JOINED = torch.tensor([1, 2, 2, 4, 3, 3, 3, 1])
    ONE = torch.tensor([1, 2, 2, 3])

    class Speech(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.GRU(4, 5, bidirectional=True, dtype=torch.float64)
            self.loss = torch.nn.CTCLoss(zero_infinity=True)

        def forward(self, x, targets, lengths, sizes):
            return self.loss(self.layer(x)[0][..., :5].log_softmax(-1), targets, lengths, sizes)


@needs_torch
class LossTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, batch, *args, **options):
        """Also of what is no result of log_softmax."""
        x = torch.randn(*((9, batch, 5) if batch else (9, 5)), dtype=torch.float64)
        for normalize in (lambda x: x.log_softmax(-1), lambda x: x):
            def run():
                own = x.clone().requires_grad_()
                loss = F.ctc_loss(normalize(own), *args, **options)
                weights = torch.arange(1.0, 1 + loss.numel(), dtype=torch.float64).reshape(loss.shape)
                return loss.detach(), *torch.autograd.grad((loss * weights).sum(), own)

            expected = run()
            with ctc_loss_of_tensors():
                found = run()
            for mine, theirs in zip(found, expected):
                torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-10, equal_nan=True)

    def test_targets(self):
        lengths, sizes = torch.tensor([9, 7, 5]), torch.tensor([4, 3, 1])
        for reduction in ("mean", "sum", "none"):
            self.check(3, PADDED, lengths, sizes, reduction=reduction)
            self.check(3, JOINED, lengths, sizes, reduction=reduction)
            self.check(3, JOINED, (9, 7, 5), (4, 3, 1), reduction=reduction)
        self.check(2, PADDED[:2] % 4, torch.tensor([9, 6]), torch.tensor([3, 0]), blank=4, reduction="none")
        self.check(2, torch.zeros(2, 0, dtype=torch.int64), (9, 3), (0, 0), reduction="none")
        self.check(0, ONE, torch.tensor(9), torch.tensor(4), blank=4)

    def test_targets_that_do_not_fit(self):
        """Three equal labels need five times; no times have the target of no labels."""
        for zero_infinity in (False, True):
            self.check(2, PADDED[:2], torch.tensor([9, 4]), torch.tensor([4, 3]), reduction="none",
                       zero_infinity=zero_infinity)
        self.check(2, PADDED[:2], torch.tensor([9, 0]), torch.tensor([4, 0]), reduction="sum")
        self.check(2, PADDED[:2], torch.tensor([9, 0]), torch.tensor([4, 2]), reduction="sum", zero_infinity=True)


@needs_torch
class ExportTest(unittest.TestCase):
    def test_models(self):
        torch.manual_seed(0)
        model, x = Speech(), torch.randn(9, 3, 4, dtype=torch.float64)
        for targets in (PADDED, JOINED):
            args = x, targets, torch.tensor([9, 7, 5]), torch.tensor([4, 3, 1])
            loss, gradients = remat.compile(rt.export(model, args))(None, *args)
            model.zero_grad()
            expected = model(*args)
            expected.backward()
            torch.testing.assert_close(loss, expected.detach())
            for name, parameter in model.named_parameters():
                torch.testing.assert_close(gradients[name], parameter.grad)

    def test_packed_sequences(self):
        layer = torch.nn.LSTM(4, 5)

        def run(x):
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([7, 5]))
            return layer(packed)[1][0].sum()

        with self.assertRaisesRegex(remat.ExportError, "whose shape depends on the lengths; give the layer the padded"):
            rt.export(run, (torch.randn(7, 2, 4),))


if __name__ == "__main__":
    unittest.main()
